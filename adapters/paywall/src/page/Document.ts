/** The page's HTML. Without scripts it already says what is sold, by whom and for how much. */
import type { Paywall } from "@pontage/core"

import type { PageFacts, PageOption } from "../PageFacts.ts"
import { filled, type Language } from "../texts/Languages.ts"
import { Html, json, markup } from "./Html.ts"

/** Everything that the page shows. */
export interface DocumentFacts {
  readonly language: Language
  readonly name: string
  readonly logo: string | undefined
  readonly offer: Pick<Paywall.PaywallOffer, "origin" | "description">
  readonly facts: PageFacts
  readonly style: string
  readonly script: string
}

/** The document. */
export const document = ({ facts, language, logo, name, offer, script, style }: DocumentFacts): string => {
  const { options, price, texts } = facts
  const title = filled(texts.title, { price, name })
  return markup`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<header class="offer"><div class="inner">
<p class="seller">${logoOf(name, logo)}<span>${name}</span></p>
<h1><span class="away">${title}. </span><span class="price" aria-hidden="true">${price}</span></h1>
<p class="what">${offer.description ?? texts.resource}</p>
<dl class="facts">
${fact(texts.seller, offer.origin.replace(/^https?:\/\//, ""))}
${options.length === 1 ? options.map(({ networkName }) => fact(texts.network, networkName)) : []}
</dl>
</div></header>
<main class="checkout"><div class="inner">
<div id="checkout"><h2>${texts.networks}</h2><ul class="networks plain">${options.map(optionItem)}</ul><noscript><p class="note">${texts.noScript}</p></noscript></div>
<p id="said" class="away" role="status" aria-live="polite"></p>
<footer>${texts.programs}</footer>
</div></main>
<script type="application/json" id="facts">${json(facts)}</script>
<script type="module">${new Html(script)}</script>
</body>
</html>
`.text
}

const logoOf = (name: string, logo: string | undefined): Html =>
  logo === undefined
    ? markup`<span class="mark" aria-hidden="true">${String.fromCodePoint(name.codePointAt(0) ?? 32).toUpperCase()}</span>`
    : markup`<img src="${logo}" alt="">`

const fact = (name: string, text: string): Html => markup`<div><dt>${name}</dt><dd>${text}</dd></div>`

const optionItem = ({ networkName, symbol, tokens }: PageOption): Html =>
  markup`<li><span>${networkName}</span><span>${tokens} ${symbol}</span></li>`
