r"""Equations of `docs/models.md`: by family and kind, in LaTeX or words, and where each is from.

A source's first word stands in the docstring of the kind's own module or class, too, which has it
in full (`tests/test_models_page.py`).
"""

from typing import NamedTuple


class Model(NamedTuple):
    """One kind.

    Attributes
    ----------
    text : str
        Its equation, or a sentence where there is none.
    source : str
        Where it is from; nothing where it is a definition.
    """

    text: str
    source: str = ""


class Chapter(NamedTuple):
    """One family.

    Attributes
    ----------
    title : str
    preface : str
        What holds for all of its kinds, and what the symbols are.
    kinds : dict of str to Model
    """

    title: str
    preface: str
    kinds: dict[str, Model]


CHAPTERS = {
    "channels.path_loss": Chapter(
        "Path loss",
        "Loss $L$ in dB over a distance $d$ in m at a carrier $f$. From it follows the mean SNR "
        "$\\bar\\gamma$ of a link, with transmit power $P$, shadowing $X$ and noise $N = k "
        "T_0 B$ times "
        "the noise figure $F$ (Friis, Proc. IRE 1944):\n\n"
        "$$\\bar\\gamma\\,[\\mathrm{dB}] = P - L(d) - X - 10 \\log_{10}(k T_0 B) - F$$",
        {
            "free_space": Model(
                r"$L = 20 \log_{10}\frac{4 \pi d f}{c}$, less the gains of both antennas "
                r"(`antennas_db`)",
                "Friis, Proc. IRE 1946",
            ),
            "log_distance": Model(
                r"$L = L_0 + 10\, n \log_{10}\frac{d}{d_0}$; $L_0$: `reference_db`, by default "
                r"that of free space at $d_0$",
                "Rappaport, Wireless Communications, 2002, 4.9",
            ),
            "itu_indoor": Model(
                r"$L = 20 \log_{10} f_{\mathrm{MHz}} + N \log_{10} d + L_f - 28$",
                "ITU-R P.1238, eq. (1) up to P.1238-9",
            ),
            "umi": Model(
                r"In sight $L = 32.4 + 21 \log_{10} d + 20 \log_{10} f_{\mathrm{GHz}}$ up to the "
                r"breakpoint, out of sight at least $22.4 + 35.3 \log_{10} d + 21.3 \log_{10} "
                r"f_{\mathrm{GHz}} - 0.3 (h_{UT} - 1.5)$; in sight with probability "
                r"$\frac{18}{d} + e^{-d/36} (1 - \frac{18}{d})$ beyond 18 m",
                "3GPP TR 38.901, UMi - Street Canyon",
            ),
            "inh": Model(
                r"In sight $L = 32.4 + 17.3 \log_{10} d + 20 \log_{10} f_{\mathrm{GHz}}$, out of "
                r"sight at least $17.3 + 38.3 \log_{10} d + 24.9 \log_{10} f_{\mathrm{GHz}}$; in "
                r"sight always up to 1.2 m, with probability $e^{-(d - 1.2) / 4.7}$ up to 6.5 m, "
                r"then $0.32\, e^{-(d - 6.5) / 32.6}$",
                "3GPP TR 38.901, InH - Office",
            ),
            "uma": Model(
                r"In sight $L = 28 + 22 \log_{10} d + 20 \log_{10} f_{\mathrm{GHz}}$ up to the "
                r"breakpoint, out of sight at least $13.54 + 39.08 \log_{10} d + 20 \log_{10} "
                r"f_{\mathrm{GHz}} - 0.6 (h_{UT} - 1.5)$; in sight with probability "
                r"$\frac{18}{d} + e^{-d/63} (1 - \frac{18}{d})$ beyond 18 m",
                "3GPP TR 38.901, UMa",
            ),
            "rma": Model(
                r"In sight $L = 20 \log_{10} \frac{40 \pi d f_{\mathrm{GHz}}}{3} + \min(0.03 "
                r"h^{1.72}, 10) \log_{10} d - \min(0.044 h^{1.72}, 14.77) + 0.002\, d \log_{10} h$ "
                r"up to the breakpoint; in sight with probability $e^{-(d - 10) / 1000}$ "
                "beyond 10 m",
                "3GPP TR 38.901, RMa",
            ),
            "okumura_hata": Model(
                r"$L = 69.55 + 26.16 \log_{10} f_{\mathrm{MHz}} - 13.82 \log_{10} h_b - a(h_m) + "
                r"(44.9 - 6.55 \log_{10} h_b) \log_{10} d_{\mathrm{km}}$, corrected for suburbs "
                r"and open country; above 1500 MHz $46.3 + 33.9 \log_{10} f_{\mathrm{MHz}}$ in "
                "place of the first two terms",
                "Hata, IEEE Trans. Veh. Technol. 1980; COST 231, 1999",
            ),
            "two_ray": Model(
                r"$L = 20 \log_{10} \frac{4 \pi f}{c} - 20 \log_{10} \left\lvert \frac{1}{d_1} + "
                r"\Gamma \frac{e^{-j k (d_2 - d_1)}}{d_2} \right\rvert$",
                "Rappaport, Wireless Communications, 2002, 4.6",
            ),
            "v2v": Model(
                r"In sight $L = 32.4 + 20 \log_{10} d + 20 \log_{10} f_{\mathrm{GHz}}$ on a "
                r"highway, $38.77 + 16.7 \log_{10} d + 18.2 \log_{10} f_{\mathrm{GHz}}$ in a city; "
                r"behind a vehicle 0, 5 or 9 dB more, beyond 541 m and $15 \log_{10} d - 41$ dB; "
                r"behind a corner at least $36.85 + 30 \log_{10} d + 18.9 \log_{10} "
                r"f_{\mathrm{GHz}}$",
                "3GPP TR 37.885",
            ),
            "air_to_ground": Model(
                r"Free space and $\eta_{LOS}$ or $\eta_{NLOS}$; in sight with probability "
                r"$\frac{1}{1 + a\, e^{-b (\theta - a)}}$ at an elevation of $\theta$ degrees",
                "Al-Hourani, Kandeepan and Lardner, IEEE Wireless Commun. Lett. 2014",
            ),
            "gains": Model("The gain of each link over time, from a file.", "Colosseum's format"),
            "sionna_rt": Model("Gains of the paths that Sionna RT traced.", "Sionna RT"),
            "deepmimo": Model("Gains of a ray-traced scenario.", "DeepMIMO v4"),
        },
    ),
    "channels.shadowing": Chapter(
        "Shadowing",
        r"$X$ in dB, normal with standard deviation $\sigma$; $\delta$ is the decorrelation "
        "distance. $X$ is a function of the pair and the positions of its ends; it does not change "
        "over time.",
        {
            "none": Model("$X = 0$"),
            "log_normal": Model(
                r"Correlation of a pair's values after its ends moved by $\Delta_a$, $\Delta_b$: "
                r"$e^{-\Delta_a / \delta}\, e^{-\Delta_b / \delta}$",
                "Gudmundson, Electronics Letters 1991; Wang, Tameh and Nix 2008",
            ),
            "correlated_ends": Model(
                r"$X_{ab} = \sigma \frac{F(a) + F(b)}{\sqrt{2 (1 + r_{ab})}}$, with a field $F$ "
                r"whose correlation is $r(x) = e^{-x / \delta}$",
                "Gudmundson 1991; Wang, Tameh and Nix 2008; TR 36.942, 5.1.1",
            ),
            "nesh": Model(
                r"$X_{ab} \propto \frac{1}{\sqrt{\lVert b - a \rVert}} \int_a^b p(x)\, dx$ through "
                r"a field $p$ of covariance $\propto e^{-x / \delta}$, scaled to $\sigma$",
                "Agrawal and Patwari, IEEE Trans. Wireless Commun. 2009",
            ),
        },
    ),
    "channels.fading": Chapter(
        "Fading",
        "Power gain $g$ with mean 1, so that the SNR is $g$ times the mean. With `process = "
        '"blocks"` each block has a new draw; a block lasts `coherence_s`, or else $0.423 / f_D$ '
        "(Rappaport 2002, eq. 5.40.c) with $f_D = v f / c$ for nodes of speed $v$. With "
        '`"sum_of_sinusoids"` the gain follows the Clarke spectrum in time (Xiao, Zheng and '
        "Beaulieu, IEEE Trans. Wireless Commun. 2006).",
        {
            "none": Model("$g = 1$"),
            "rayleigh": Model(
                r"$g \sim \mathrm{Exp}(1)$, so that the SNR is below $\theta$ with probability "
                r"$1 - e^{-\theta / \bar\gamma}$"
            ),
            "rician": Model(
                r"$g = \left\lvert \sqrt{\tfrac{K}{K+1}} + \mathcal{CN}(0, \tfrac{1}{K+1}) "
                r"\right\rvert^2$"
            ),
            "nakagami": Model(r"$g \sim \mathrm{Gamma}(m, 1/m)$"),
            "frequency_selective": Model(
                r"$E[H(f)\, H^*(f + \Delta f)] = \sum_l p_l\, e^{2 \pi j \Delta f \tau_l}$ over "
                "resource blocks; a packet meets one effective SNR",
                "3GPP TR 38.901, tables 7.7.2-1 to -3",
            ),
            "ns3_fad": Model("Fading as recorded in a file of ns-3's LTE module.", "ns-3"),
        },
    ),
    "channels.rate": Chapter(
        "Rate",
        "Rate $R$ in bit/s at an SNR $\\gamma$ over a bandwidth $B$ in Hz. With `csi_delay_s` the "
        "sender chooses it by an old SNR, and the receiver decodes at the true one.",
        {
            "fixed": Model("$R$ as stated"),
            "shannon_gap": Model(
                r"$R = B \log_2 (1 + \gamma / \Gamma)$, $\Gamma = -\ln(5\,\mathrm{BER}) / 1.5$",
                "Goldsmith and Chua, IEEE Trans. Commun. 1997",
            ),
            "ofdm_80211": Model(
                "6 to 54 Mbit/s in 20 MHz: the fastest rate at which a packet of 1500 bytes is "
                "lost "
                "with a probability of at most 10 %",
                "Pei and Henderson 2010",
            ),
            "lte_cqi": Model(
                "$R = B$ times the efficiency of the highest channel quality indicator that "
                "$\\gamma$ allows",
                "3GPP TS 36.213, table 7.2.3-1",
            ),
            "lora": Model(
                r"$\frac{2^{SF}}{B}$ per symbol, $8 + \left\lceil \frac{8 P - 4 SF + 28 + 16 CRC - "
                r"20 IH}{4 (SF - 2 DE)} \right\rceil (CR + 4)$ symbols after the preamble",
                "Semtech AN1200.13",
            ),
            "minstrel": Model(
                "The rate with the largest throughput: share of acknowledged attempts over the "
                "time "
                "of an attempt; the shares are exponentially weighted means over windows of 100 ms",
                "Linux (mac80211), ns-3's MinstrelWifiManager",
            ),
        },
    ),
    "channels.packet_error": Chapter(
        "Packet error",
        r"Probability that an attempt at a packet of $\ell$ bits is lost at an SNR $\gamma$ (with "
        "interference: SINR).",
        {
            "outage": Model(
                r"1 for $\gamma \lt \theta$, else 0; $\theta$ is the radio's threshold"
            ),
            "rate_outage": Model(
                r"1 for $\gamma \lt \theta(R)$, else 0; $\theta(R)$ is the SNR that rate $R$ needs"
            ),
            "logistic": Model(
                r"$1 - \prod_{\text{bits}} (1 - p)$, $p = \frac{1}{1 + e^{s (\gamma_{dB} - m)}}$"
            ),
            "ofdm_80211": Model(
                r"$1 - (1 - P_e)^\ell$, $P_e = \frac{1}{2b} \sum_d c_d \left( 4 p (1 - p) "
                r"\right)^{d/2}$",
                "Pei and Henderson, 2010; weights: Frenger et al. 1998",
            ),
            "oqpsk_802154": Model(
                r"$1 - (1 - p)^\ell$, $p = \frac{8}{15} \frac{1}{16} \sum_{k=2}^{16} (-1)^k "
                r"\binom{16}{k}\, e^{20 \gamma (1/k - 1)}$",
                "IEEE 802.15.4-2006, E.4.1.8",
            ),
            "uncoded_bpsk": Model(
                r"$1 - \left( 1 - Q(\sqrt{2 \gamma}) \right)^\ell$",
                "Proakis, Digital Communications, 2001, 5.2",
            ),
            "uncoded_qam16": Model(
                r"$1 - (1 - p)^\ell$, $p = \frac{3}{8}\, \mathrm{erfc} \sqrt{\gamma / 10}$",
                "Proakis, Digital Communications, 2001",
            ),
            "exponential_snr": Model(
                r"$1 - e^{-m / \gamma}$",
                "Chen et al., IEEE Trans. Wireless Commun. 2021; Xi et al. 2011",
            ),
            "fixed": Model("$p$ as stated"),
            "table": Model(
                "From a file, by rate, size and SNR; $\\ln p$ is linear in dB between rows"
            ),
        },
    ),
    "channels.arq": Chapter(
        "Retransmission",
        "A message of $M$ packets; each attempt at a packet is lost with probability $p$; $L$ is "
        "`max_attempts`. netsim draws the numbers of attempts and losses of a message at once, "
        "with "
        "the distribution of playing every attempt.",
        {
            "none": Model(r"losses $\sim \mathrm{Binomial}(M, p)$"),
            "unlimited": Model(r"attempts $\sim M + \mathrm{NegativeBinomial}(M, 1 - p)$"),
            "abort": Model(r"the message arrives with probability $(1 - p^L)^M$"),
            "hole": Model(r"a packet is missing with probability $p^L$, the others are kept"),
            "harq_chase": Model(
                r"after $k$ attempts a packet is undecoded with probability $p(\gamma_1 + \dots + "
                r"\gamma_k)$",
                "D. Chase, IEEE Trans. Commun. 1985",
            ),
        },
    ),
    "channels.broadcast": Chapter(
        "Broadcast",
        "One transmission for several receivers, each of which loses packets independently.",
        {
            "once": Model("every packet is sent once"),
            "repeated": Model(
                r"in each round the packets that some receiver still lacks; a packet is sent "
                r"$\sum_{k=0}^{R-1} 1 - (1 - p^k)^n$ times on average, to $n$ receivers with equal "
                r"$p$, in at most $R$ rounds (`max_rounds`)",
                "Towsley, Kurose and Pingali, IEEE J. Sel. Areas Commun. 1997",
            ),
        },
    ),
    "channels.mac": Chapter(
        "Medium access",
        "The nodes that may send at a time, and the effect of simultaneous senders on each other.",
        {
            "orthogonal": Model(
                "a channel for every pair, without interference; only half-duplex radios limit "
                "messages"
            ),
            "shared": Model(
                r"$\mathrm{SINR}(t) = \frac{S(t)}{1 + \sum_k I_k(t)}$, with the powers over noise "
                r"of "
                "the sender ($S$) and of all others that send ($I_k$)"
            ),
            "tdma": Model("one slot for each node in every frame; the mean wait is half a frame"),
            "tdma_reuse": Model(
                r"slot$(i) \neq$ slot$(j)$ where $1 \le d_G(i, j) \le$ `hops`; SINR among nodes "
                r"that "
                "share a slot",
                "Nelson and Kleinrock, IEEE Trans. Commun. 1985; Ramanathan 1999",
            ),
            "aloha": Model(
                r"slotted $S = n q (1 - q)^{n-1}$; pure $S = \frac{n q}{1 + q} \left( \frac{e^{-q}}"
                r"{1 + q} \right)^{n-1}$; under a duty cycle $d$ silent for "
                "$T (1/d - 1)$ after $T$",
                "Abramson, AFIPS 1970; Roberts 1975",
            ),
            "csma": Model(
                r"$\tau = \frac{2 (1 - 2p)}{(1 - 2p)(W + 1) + p W (1 - (2p)^m)}$, $p = 1 - (1 - "
                r"\tau)^{n-1}$ for $n$ senders in range of each other, extended to hidden senders",
                "Bianchi, IEEE JSAC 2000; Tinnirello, Bianchi and Xiao 2010",
            ),
            "nr_sidelink_mode2": Model(
                "a random resource among those that no node in range has reserved (at least a "
                "fifth "
                "of all), for 5 to 15 packets; two nodes that choose blindly among $N$ collide "
                "with "
                "probability $1 / N$",
                "3GPP TR 37.985, TS 38.214, 8.1.4",
            ),
            "ofdma": Model(
                r"round robin, or sub-channel $k$ to $\mathrm{argmax}_f R_{fk} / T_f$ with "
                r"$T \leftarrow (1 - w) T + w \cdot$ rate served",
                "Kelly 1997; Viswanath, Tse and Laroia 2002",
            ),
        },
    ),
    "channels.presets": Chapter(
        "Radios by name",
        "Values for the keys of `[radio]` that the scenario does not state itself.",
        {
            "none": Model("the defaults"),
            "lora": Model(
                "868 MHz, 125 kHz, SF 7 to 12 with their sensitivities, a duty cycle of 1 %",
                "Semtech SX1276; Georgiou and Raza, IEEE Wireless Commun. Lett. 2017",
            ),
            "ble": Model(
                "connections over 1M, 2M or coded PHYs, packets of 251 bytes, each acknowledged",
                "Bluetooth Core Specification 5.4",
            ),
            "lte": Model(
                "resource blocks of 3 to 20 MHz by proportional fairness, CQI rates",
                "3GPP TS 36.101, table 5.6-1",
            ),
            "wifi": Model("802.11a or g in 20 MHz under the DCF", "IEEE 802.11-2020"),
            "wifi_p": Model(
                r"802.11p in 10 MHz, 3 to 27 Mb/s, $\mathrm{AIFS} = 32 + 13\, \mathrm{AIFSN}$ "
                "us and windows by access category",
                "IEEE 802.11-2020; ETSI EN 302 663, table B.3",
            ),
        },
    ),
    "channels.power": Chapter(
        "Power control",
        "Transmit power in dBm over a link of path loss $L$.",
        {
            "fixed": Model("$P$ as stated"),
            "fractional": Model(
                r"$P = \min(P_{\max},\, P_0 + \alpha L + 10 \log_{10} M)$",
                "3GPP TS 36.213, 5.1.1.1; TS 38.213, 7.1.1",
            ),
            "inversion": Model(
                r"$P = \min(P_{\max},\, \gamma_{\text{target}} + N + L)$",
                "ElSawy and Hossain, IEEE Trans. Wireless Commun. 2014",
            ),
        },
    ),
    "channels.routing": Chapter(
        "Relaying",
        "A unicast to a node out of reach takes the route with the least sum of link costs. "
        "Relays store a whole message and send it on: $M$ packets of duration $t$ over $h$ hops "
        "take "
        "$h M t$.",
        {
            "none": Model("no relays"),
            "hops": Model("cost 1 for each link whose mean SNR is above the threshold"),
            "etx": Model(
                r"$\mathrm{ETX} = 1 / d$, $d$ the mean share of successful attempts; with outage "
                r"under Rayleigh fading $e^{\theta / \bar\gamma}$",
                "De Couto et al., MobiCom 2003",
            ),
            "latency": Model(
                r"$\mathrm{ETT} = \mathrm{ETX} \cdot S / B$, $S$ the size of a packet, $B$ the "
                r"rate of the link",
                "Draves, Padhye and Zill, MobiCom 2004",
            ),
        },
    ),
    "channels.sleep": Chapter(
        "Sleeping radios",
        "A radio that sleeps hears nothing; its node continues to compute.",
        {
            "none": Model("always awake"),
            "duty_cycle": Model("awake for a fixed share at the beginning of each period"),
        },
    ),
    "compute.speed": Chapter(
        "Time of training",
        "Virtual time of a job of $n$ local steps on a node of speed $v$ (`speed` of its group, 1 "
        "by "
        "default); $s$ is `step_s`, $Z$ standard normal, $E$ exponential of mean 1.",
        {
            "fixed": Model("$n s / v$"),
            "shifted_exponential": Model(
                r"$(n s + \text{straggle} \cdot E) / v$, one draw per "
                "job"
            ),
            "flops": Model(
                "$n$ times a step's operations over (`flops_per_s` × `utilisation` × $v$)"
            ),
            "spread": Model(
                r"$n s\, e^{\sigma Z} / v$, or $n s (1 + \sigma E) / v$, one draw per node"
            ),
            "stragglers": Model("$n s / v$, on a share of the nodes `slowdown` times that"),
            "devices": Model(
                "$n s / (v r)$, $r$ the score of a measured device over the median score",
                "AI Benchmark 2020",
            ),
        },
    ),
    "energy.compute": Chapter(
        "Energy of training",
        "Energy of a local step in J.",
        {
            "per_step": Model("`joules`"),
            "cpu": Model(
                r"$\kappa \cdot c \cdot b \cdot f^2$: capacitance, cycles a sample, batch, clock",
                "Tran et al., INFOCOM 2019, eq. (3)",
            ),
        },
    ),
    "energy.radio": Chapter(
        "Energy of the radio",
        "Every attempt counts, with its headers. A node whose battery is empty is off.",
        {
            "transmit": Model("transmit power × airtime"),
            "first_order": Model(
                r"sender $k (E_{\text{elec}} + \varepsilon d^2)$, receiver $k E_{\text{elec}}$, "
                "for $k$ bits over $d$ metres",
                "Heinzelman, Chandrakasan and Balakrishnan, HICSS 2000",
            ),
            "radio_state": Model("a power for each of sending, receiving, idle, asleep"),
        },
    ),
    "energy.harvest": Chapter(
        "Harvested energy",
        "Power that charges batteries. A node whose battery is empty is off until the battery "
        "holds `on_level`. Energy stored = start + harvested - used - spilled (beyond a full "
        "battery).",
        {
            "none": Model("nothing: an empty node stays off"),
            "constant": Model(
                "`power_w` = $h$; a node that draws $P > h$ is on for $h / P$ of the time"
            ),
            "solar": Model(r"$P \sin(\pi t / d)$ over the daylight $d$, $2 P d / \pi$ a day"),
            "bernoulli": Model("`power_w` in each slot with `probability`, else 0"),
            "markov": Model(
                r"two states; good with probability $\frac{g}{g + b}$, and for $1 / b$ slots on "
                r"average",
                "Ho et al., ICCS 2010",
            ),
            "trace": Model("from a file"),
        },
    ),
    "topology.mobility": Chapter(
        "Mobility",
        "Positions of nodes, continuous in time.",
        {
            "static": Model("nodes do not move"),
            "random_waypoint": Model(
                "in a straight line to a uniform point, a pause, and on to the next; the run "
                "starts in "
                "the stationary distribution",
                "Johnson and Maltz 1996; Navidi and Camp 2004; Le Boudec and Vojnovic 2005",
            ),
            "gauss_markov": Model(
                r"$v' = a v + \sqrt{1 - a^2}\, \sigma w$ by axis", "Liang and Haas 2003, eq. (2)"
            ),
            "walker": Model(
                r"satellites $i\!:\!t/p/f$ on circular orbits, $n = \sqrt{\mu / a^3}$, and "
                "stations on the turning Earth; a link needs a minimum elevation and a line above "
                "the "
                "atmosphere",
                "Walker, J. Brit. Interplanet. Soc. 1984",
            ),
            "circle": Model(
                r"a circle around the position that `[nodes]` gives each node, at its height: $c "
                r"+ r (\cos, "
                r"\sin)(\phi + v t / r)$",
                "Zeng and Zhang, IEEE Trans. Wireless Commun. 2017",
            ),
            "waypoints": Model("in straight lines from point to point, heights included"),
            "trace": Model("from a CSV file"),
            "bonnmotion": Model("from a file of BonnMotion"),
            "ns2": Model("from a movement file of ns-2"),
            "sumo": Model("from SUMO's floating car data"),
            "the_one": Model("from a movement file of The ONE"),
        },
    ),
    "topology.churn": Chapter(
        "Churn",
        "Times at which nodes are on. A node that is off pauses, and its transmissions are "
        "aborted.",
        {
            "none": Model("always"),
            "exponential": Model(
                "exponential times on and off with means $T_{on}$ and $T_{off}$, stationary from "
                "time "
                r"0: on with probability $\frac{T_{on}}{T_{on} + T_{off}}$"
            ),
            "trace": Model("from a file"),
            "sumo": Model("on while the node's vehicle is in SUMO's data"),
        },
    ),
    "exchange": Chapter(
        "Wake-ups",
        "Times at which nodes wake and begin a round.",
        {
            "rounds": Model("all together; a barrier ends an exchange"),
            "star": Model(
                "every $T_{ex}$ slots (`slots_per_exchange`) one node, drawn uniformly",
                "Jeong and Kountouris 2023, Alg. 1",
            ),
            "poisson": Model("exponential gaps of mean 1 / `rate_hz`, independent at each node"),
            "periodic": Model(
                "at each node every `period_s` (± at most `drift`), at a random phase"
            ),
        },
    ),
}
"""By family, as `netsim list` calls it; in the order of the page."""

WIRES = Chapter(
    "Wires",
    "`[link]` is one table; its parts:",
    {
        "latency, rate, loss": Model(
            "One FIFO queue for each ordered pair of nodes: a message of $b$ bits occupies it for "
            "$b / R$ and arrives after the latency (and jitter); each packet is lost with the "
            "stated probability."
        ),
        '`sharing = "max_min"`': Model(
            "Max-min fair rates of messages that share uplinks, downlinks and lines, by "
            "progressive "
            "filling.",
            "Bertsekas and Gallager, Data Networks, 6.5.2",
        ),
        "`[link.slow_start]`": Model(
            r"$RTT + \frac{b}{R} + \sum_{\text{windows}} \max(0,\, RTT + \frac{S}{R} - \frac{W S}"
            r"{R})$ in addition to the latency, over all windows $W$ of segments of $S$ bits but "
            r"the "
            r"last",
            "Kurose and Ross; RFC 5681, RFC 6928",
        ),
        "`[link.bursts]`, `[radio.bursts]`": Model(
            "A Markov chain of two states, each with a loss probability, makes a step at every "
            "attempt.",
            "Gilbert, BSTJ 1960; Elliott, BSTJ 1963",
        ),
    },
)
"""Chapter without kinds."""
