"""Engines that compute translations: PyTorch in several ways, and CTranslate2."""
