/** The page's style. It is one text for all pages of a shop, so that its hash stands in the policy. */

const luminance = (color: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Black or white, whichever contrasts more with a colour (WCAG 2.2, 1.4.3): at least 4.5 to 1 for every colour. */
export const textOn = (color: string): string => (luminance(color) > 0.179 ? "#000" : "#fff")

/** The style with the shop's colour. */
export const style = (accent: string): string => `
:root{color-scheme:light dark;--accent:${accent};--on-accent:${textOn(accent)};--ground:#fff;--side:#f6f7f9;--chosen:#f6f7f9;--text:#1a1f2b;--quiet:#596273;--line:#dfe3ea;--line-strong:#8791a1;--good:#0a6b3d;--good-ground:#eaf6ef;--bad:#a3212f;--bad-ground:#fdf0f1;--warn:#7a4b00;--warn-ground:#fdf5e6}
@media(prefers-color-scheme:dark){:root{--ground:#14171d;--side:#0d0f14;--chosen:#222833;--text:#eef1f6;--quiet:#a3acbb;--line:#2b313c;--line-strong:#7c8697;--good:#6fd3a0;--good-ground:#12261c;--bad:#ff9aa3;--bad-ground:#2c1518;--warn:#f2c36b;--warn-ground:#2a2010}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-font-smoothing:antialiased;min-height:100vh;display:grid;grid-template:auto 1fr/minmax(0,1fr)}
h1,h2,p,dl,dd,dt,ol,ul,fieldset,legend{margin:0;padding:0;border:0;font:inherit}
ol,ul{list-style:none}
a{color:inherit}
.offer{background:var(--side);padding:24px 20px 28px;border-bottom:1px solid var(--line)}
.checkout{padding:28px 20px 40px}
.inner{max-width:420px;margin:0 auto}
.seller{display:flex;align-items:center;gap:10px;font-weight:600;overflow-wrap:anywhere}
.seller img,.mark{width:32px;height:32px;border-radius:8px;flex:none;object-fit:contain}
.mark{display:grid;place-items:center;background:var(--accent);color:var(--on-accent);font-size:15px}
.price{display:block;font-size:40px;line-height:1.1;font-weight:650;letter-spacing:-.02em;margin:28px 0 6px;font-variant-numeric:tabular-nums}
.what{font-size:17px;color:var(--text);overflow-wrap:anywhere}
.quiet{color:var(--quiet);font-size:14px}
.facts{margin-top:24px;display:grid;gap:14px}
.facts dt{color:var(--quiet);font-size:13px}
.facts dd{overflow-wrap:anywhere;font-size:15px}
.plain li{display:flex;justify-content:space-between;gap:16px;padding:13px 14px;border-top:1px solid var(--line)}
.plain li:first-child{border-top:0}
.plain li span:last-child{color:var(--quiet);font-variant-numeric:tabular-nums;white-space:nowrap}
h2{font-size:15px;font-weight:600;margin-bottom:10px}
legend{font-size:15px;font-weight:600;margin-bottom:10px}
.block+.block,.card+.block{margin-top:28px}
.networks{display:grid;border:1px solid var(--line);border-radius:10px;overflow:hidden}
.networks label{display:flex;align-items:center;gap:12px;padding:13px 14px;cursor:pointer;min-height:48px}
.networks label+label{border-top:1px solid var(--line)}
.networks label:has(:checked){background:var(--chosen)}
.networks input{width:18px;height:18px;margin:0;accent-color:var(--accent);flex:none}
.networks span{flex:1}
.networks span+span{flex:none;color:var(--quiet);font-variant-numeric:tabular-nums}
.wallets{display:grid;gap:10px}
button,.button{display:flex;align-items:center;justify-content:center;gap:10px;width:100%;min-height:48px;padding:11px 16px;border-radius:10px;border:1px solid transparent;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:600;cursor:pointer;text-decoration:none;text-align:center;overflow-wrap:anywhere;transition:filter .15s}
button:hover,.button:hover{filter:brightness(1.08)}
button:focus-visible,.button:focus-visible,a:focus-visible,summary:focus-visible,input:focus-visible,h2:focus-visible{outline:3px solid var(--text);outline-offset:2px;border-radius:10px}
h2:focus{outline:none}
button.second,.button.second{background:transparent;color:var(--text);border-color:var(--line-strong)}
button img{width:22px;height:22px;border-radius:5px}
button[disabled]{background:var(--side);color:var(--quiet);border-color:var(--line);cursor:not-allowed;font-weight:400;font-size:14px}
.note{font-size:14px;color:var(--quiet);margin-top:12px}
.wallets:empty+.note{margin-top:0}
.note,.what,.card p,button,.button,footer{text-wrap:balance}
.form{border-top:1px solid var(--line);padding-top:16px;font-size:14px;color:var(--quiet)}
.more{margin-top:20px}
.code{display:block;width:100%;max-width:264px;margin:0 auto;background:#fff;color:#000;border:1px solid var(--line);border-radius:12px}
.code path{fill:#000}
.scan .note{text-align:center}
#checkout:has(.done) .scan{display:none}
@media(hover:none) and (pointer:coarse){.scan{display:none}}
.note+.button,.note+button{margin-top:12px}
.form ul{margin-top:6px}
.form li{overflow-wrap:anywhere;color:var(--text)}
.card .button{margin-top:16px}
.card{border:1px solid var(--line);border-radius:12px;padding:18px}
.good{border-color:transparent;background:var(--good-ground)}.good h2{color:var(--good)}
.bad{border-color:transparent;background:var(--bad-ground)}.bad h2{color:var(--bad)}
.warn{border-color:transparent;background:var(--warn-ground)}.warn h2{color:var(--warn)}
.card h2{font-size:18px;margin-bottom:6px}
.card button{margin-top:16px}
.steps li{position:relative;display:flex;gap:14px;align-items:center;padding:9px 0;color:var(--quiet)}
.steps i{width:20px;height:20px;border-radius:50%;border:2px solid var(--line-strong);flex:none}
.steps .done{color:var(--text)}.steps .done i{border-color:var(--good);background:var(--good)}
.steps .now{color:var(--text);font-weight:600}.steps .now i{border-color:currentColor;border-right-color:transparent}
@media(prefers-reduced-motion:no-preference){.steps .now i{animation:turn .9s linear infinite}@keyframes turn{to{transform:rotate(1turn)}}}
.receipt{display:grid;grid-template-columns:auto minmax(0,1fr);gap:6px 18px;margin-top:12px;font-size:14px}
.receipt dt{color:var(--quiet)}
.receipt dd{overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
@media(max-width:480px){.receipt{grid-template-columns:minmax(0,1fr);gap:0}.receipt dd{margin-bottom:8px}}
pre{margin:0 0 14px;max-height:420px;overflow:auto;padding:14px;border:1px solid var(--line);border-radius:10px;background:var(--side);font:13px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.shown{max-width:100%;border-radius:10px;border:1px solid var(--line);margin-bottom:14px;display:block}
iframe.shown{width:100%;height:420px;background:#fff}
details{margin-top:12px;font-size:14px;color:var(--quiet)}
summary{cursor:pointer;width:max-content}
details p{margin-top:6px;overflow-wrap:anywhere}
footer{margin-top:32px;font-size:13px;color:var(--quiet)}
.away{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
[hidden]{display:none!important}
@media(min-width:900px){body{grid-template:1fr/minmax(0,1fr) minmax(0,1fr)}.offer{border-bottom:0;border-right:1px solid var(--line);padding:88px 56px}.checkout{padding:88px 56px}.offer .inner{margin:0 0 0 auto}.checkout .inner{margin:0}.price{font-size:48px}}
`
