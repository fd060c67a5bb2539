import type { Paywall } from "@pontage/core"

/** Makes the page for people: a `paywall` of a shop's options. */
import { entry, files } from "#files"

import { document } from "./page/Document.ts"
import * as PageOptions from "./page/PageOptions.ts"
import * as Policy from "./page/Policy.ts"
import { style as styleWith } from "./page/Style.ts"
import type { PageFacts } from "./PageFacts.ts"
import { type PaywallOptions, read } from "./PaywallOptions.ts"
import { languages, preferred } from "./texts/Languages.ts"

const defaultAccent = "#3d5afe"

/**
 * The one inline script. It is the same on every page, and its hash stands in the policy; all that it loads is the shop's own. It adds
 * an element, since browsers let a script that is trusted by its hash load others in that way alone. The address begins with the
 * origin: a path that begins with two slashes would name another host.
 */
const script = `const s=document.createElement("script");s.type="module";s.src=location.origin+location.pathname+"?pontage-paywall=${entry}";document.head.append(s)`

const manifestName = "tonconnect-manifest.json"

/** Scripts name each other by this mark in place of the page's path. */
const mark = "@paywall/"

/**
 * The page on which a person pays: give it to a shop as its option `paywall`. Throws `Misconfigured` for a mistake in the options.
 */
export const paywall = (given: PaywallOptions = {}): Paywall.Paywall => {
  const options = read(given)
  const { accent = defaultAccent, locale, logo, nodes = {} } = options
  const style = styleWith(accent)
  const headers = Policy.headers(script, style)
  const nameAt = (origin: string) => options.name ?? origin.replace(/^https?:\/\//, "")
  return {
    page: (offer) => {
      const language = locale ?? preferred(offer.languages)
      const shown = PageOptions.of(offer.options, nodes)
      const facts: PageFacts = {
        price: priceOf(offer),
        options: shown,
        manifestUrl: `${offer.origin}${pathOf(offer.target)}?pontage-paywall=${manifestName}`,
        texts: languages[language]
      }
      return { headers, body: document({ language, name: nameAt(offer.origin), logo, offer, facts, style, script }) }
    },
    file: (name, { origin, path }) => {
      if (name === manifestName)
        return { headers: Policy.manifestHeaders, body: manifest(origin, nameAt(origin), logo) }
      const text = files.get(name)
      return text === undefined ? undefined : { headers: Policy.scriptHeaders, body: placed(text, path) }
    }
  }
}

const pathOf = (target: string): string => target.slice(0, `${target}?`.indexOf("?"))

/** A script whose imports lead to the page's own path: relative to the script, so that no path can name another host. */
const placed = (text: string, path: string): string => {
  const segment = path.slice(path.lastIndexOf("/") + 1)
  const address = JSON.stringify(`./${segment}?pontage-paywall=`).slice(1, -1).replaceAll("'", "%27")
  return text.replaceAll(mark, () => address)
}

/** The price for people: in dollars where an option is a dollar stablecoin, else that of the first option. */
const priceOf = ({ options }: Paywall.PaywallOffer): string => {
  const dollar = options.find(({ asset }) => asset.dollar)
  if (dollar !== undefined) return `$${PageOptions.tokensOf(dollar.amount, dollar.asset.decimals, true)}`
  const [first] = options
  return first === undefined
    ? ""
    : `${PageOptions.tokensOf(first.amount, first.asset.decimals, false)} ${first.asset.symbol}`
}

/** The manifest by which a TON wallet names this shop to its owner. */
const manifest = (origin: string, name: string, logo: string | undefined): string =>
  JSON.stringify({ url: origin, name, iconUrl: `${origin}${logo?.startsWith("/") === true ? logo : "/favicon.ico"}` })
