import type { Paywall } from "@pontage/core"

/** Makes the page for people: a `paywall` of a shop's options. */
import { files } from "#files"

import { document } from "./page/Document.ts"
import * as FormFacts from "./page/FormFacts.ts"
import * as PageOptions from "./page/PageOptions.ts"
import * as PageScript from "./page/PageScript.ts"
import * as Policy from "./page/Policy.ts"
import { style as styleWith } from "./page/Style.ts"
import type { PageFacts } from "./PageFacts.ts"
import { type PaywallOptions, read } from "./PaywallOptions.ts"
import { languages, preferred } from "./texts/Languages.ts"

const defaultAccent = "#3d5afe"

const manifestName = "tonconnect-manifest.json"

/**
 * The page on which a person pays: give it to a shop as its option `paywall`. Throws `Misconfigured` for a mistake in the options.
 */
export const paywall = (given: PaywallOptions = {}): Paywall.Paywall => {
  const options = read(given)
  const { accent = defaultAccent, locale, logo, nodes = {}, tonWallets = [] } = options
  const style = styleWith(accent)
  const pageOf = (script: string) => ({ script, policy: Policy.headers(script, style) })
  const byGet = pageOf(PageScript.byGet)
  const byPost = pageOf(PageScript.byPost)
  const nameAt = (origin: string) => options.name ?? origin.replace(/^https?:\/\//, "")
  return {
    page: (offer) => {
      const language = locale ?? preferred(offer.languages)
      const facts: PageFacts = {
        price: priceOf(offer),
        options: PageOptions.of(offer.options, nodes),
        manifestUrl: `${offer.origin}${pathOf(offer.target)}?pontage-paywall=${manifestName}`,
        tonWallets,
        ...(offer.form && { form: FormFacts.of(offer.form) }),
        texts: languages[language]
      }
      const { policy, script } = offer.form === undefined ? byGet : byPost
      const shown = { language, name: nameAt(offer.origin), logo, offer, facts, style, script }
      return { headers: policy, body: document(shown) }
    },
    file: (name, { method, origin, path }) => {
      if (name === manifestName)
        return { headers: Policy.manifestHeaders, body: manifest(origin, nameAt(origin), logo) }
      const text = files.get(name)
      if (text === undefined) return undefined
      return { headers: Policy.scriptHeaders, body: method === "POST" ? text : PageScript.placed(text, path) }
    }
  }
}

const pathOf = (target: string): string => target.slice(0, `${target}?`.indexOf("?"))

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
