"""Adapting a trained model to the text of a domain, without unlearning general text.

Fine-tuning with a mix of in-domain and general text (Chu et al. 2017, arXiv:1701.03214), replay of
the model's own translations if general text is missing (Robins 1995, pseudo-rehearsal), and a bound
on the loss of quality on general text.
"""
