"""Adapting a trained model to the text of a domain, without unlearning what it knows.

Fine-tuning with a mix of in-domain and general text (Chu et al. 2017, arXiv:1701.03214), replay of
the model's own translations where there is none (Robins 1995, pseudo-rehearsal), and a bound on
what the quality of general text may lose.
"""
