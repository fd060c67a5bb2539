/** The options of the page, checked where they are given. */
import { Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Result from "effect/Result"

import { type Language, languages } from "./texts/Languages.ts"

/** The options. None is required. */
export interface PaywallOptions {
  /** The shop's name, 1 to 64 characters; default: the host of its origin. */
  readonly name?: string
  /** An image beside the name: a path of the shop's own origin such as `/logo.svg`, or a `data:` URI of at most 8 KiB. */
  readonly logo?: string
  /** Colour of the button, such as `#0a6c52`; default `#3d5afe`. Its text is black or white, whichever contrasts more. */
  readonly accent?: string
  /** Language; default: the first of the browser's languages that the page has, else English. */
  readonly locale?: Language
  /**
   * Paths of the shop's own origin that lead to a node of a network: `{ "ton:mainnet": "/nodes/ton" }`, a proxy of yours. The page
   * reads a Jetton wallet's address (TON) or a recent block (TRON) there. TON and TRON are offered only with a path.
   */
  readonly nodes?: Readonly<Record<string, string>>
  /** TON wallets on other devices, at most 4; they are offered where a TON option is. */
  readonly tonWallets?: ReadonlyArray<TonWalletOptions>
}

/** A TON wallet that is reached over its maker's bridge (TON Connect), as the list of wallets describes it. */
export interface TonWalletOptions {
  /** Its key: `tonkeeper`. */
  readonly id: string
  /** Its name for people, 1 to 64 characters. */
  readonly name: string
  /** Its universal link: `https://app.tonkeeper.com/ton-connect`. */
  readonly link: string
  /** A path of the shop's own origin that leads to its bridge: `/bridges/tonkeeper`, a proxy of yours that passes events on as they come. */
  readonly bridge: string
}

const ownPath = /^\/(?!\/)[\w./~-]*$/
const dataImage = /^data:image\/(?:png|jpeg|webp|gif|svg\+xml)[;,][\w+/=%;,.:-]*$/

const check = OptionCheck.options<PaywallOptions>({
  name: OptionCheck.optional(OptionCheck.text),
  logo: OptionCheck.optional(OptionCheck.text),
  accent: OptionCheck.optional(OptionCheck.text),
  locale: OptionCheck.optional(OptionCheck.oneOf(...languageTags())),
  nodes: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  tonWallets: OptionCheck.optional(
    OptionCheck.given("a list of at most 4 wallets", (value) => Array.isArray(value) && value.length <= 4)
  )
})

function languageTags(): ReadonlyArray<Language> {
  return Object.keys(languages).filter((tag): tag is Language => Object.hasOwn(languages, tag))
}

const walletCheck = OptionCheck.options<TonWalletOptions>({
  id: OptionCheck.text,
  name: OptionCheck.text,
  link: OptionCheck.text,
  bridge: OptionCheck.text
})

const checkWallet = (given: TonWalletOptions, index: number): void => {
  const at = `tonWallets[${index}]`
  const { bridge, id, link, name } = Result.getOrThrow(OptionCheck.read(walletCheck, given, `paywall: ${at}`))
  if (!/^[\w.-]{1,64}$/.test(id)) throw wrong(`${at}.id: expected a key such as tonkeeper`)
  if (name.trim() === "" || name.length > 64) throw wrong(`${at}.name: expected 1 to 64 characters`)
  if (!/^https:\/\/[^\s#]{1,200}$/.test(link))
    throw wrong(`${at}.link: expected the wallet's universal link, such as https://app.tonkeeper.com/ton-connect`)
  if (!ownPath.test(bridge) || bridge.endsWith("/"))
    throw wrong(`${at}.bridge: expected a path of the shop's own origin such as /bridges/tonkeeper`)
}

const wrong = (what: string) => new Misconfigured({ message: `paywall: ${what}` })

/** Reads the options. Throws `Misconfigured`, for unknown keys too. */
export const read = (given: PaywallOptions): PaywallOptions => {
  const options = Result.getOrThrow(OptionCheck.read(check, given, "paywall"))
  const { accent, logo, name, nodes = {}, tonWallets = [] } = options
  if (name !== undefined && (name.trim() === "" || name.length > 64)) throw wrong("name: expected 1 to 64 characters")
  if (logo !== undefined && !ownPath.test(logo) && !(dataImage.test(logo) && logo.length <= 8192))
    throw wrong(
      "logo: expected a path of the shop's own origin such as /logo.svg, or a data: URI of an image of at most 8 KiB"
    )
  if (accent !== undefined && !/^#[0-9a-fA-F]{6}$/.test(accent))
    throw wrong("accent: expected a colour such as #0a6c52")
  tonWallets.forEach(checkWallet)
  for (const [network, path] of Object.entries(nodes))
    if (!ownPath.test(path))
      throw wrong(`nodes["${network}"]: expected a path of the shop's own origin such as /nodes/ton`)
  return options
}
