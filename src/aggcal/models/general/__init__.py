"""The general model of a judgment: ties, position, contexts, categories, control, an axis.

    η = γ_u [(s_i − s_j) + (q_ic − q_jc) + (δ_gi − δ_gj) + xᵀβ] + p_u + f_u (v_i − v_j)

and a readiness ν_u + ω_c to call a tie. Every term can be switched on (`terms`); without any of
them it is the model of `models.marginal`, which is then fitted instead.

`rows` lays out what was asked, `design` which unknowns a row touches, `outcomes` how likely each
answer is; `annotators` integrates each annotator's parameters out, and `sums` adds up the
gradient and the curvature in everything else. It is fitted in `aggregation.general`.
"""
