/**
 * One seller: the public origin, the secret that binds payments, the schemes and the price resolver. All routes of a
 * process share these values; they are checked once.
 */
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import type { Asset } from "../../protocol/Asset.ts"
import type { Network } from "../../protocol/Network.ts"
import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { Misconfigured } from "../../protocol/ProtocolError.ts"
import { isLoopback } from "../../protocol/text/Loopback.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"
import type { ServerSchemeRegistry } from "../../scheme/ServerSchemeRegistry.ts"
import type { ReceiptSigner } from "../../wire/pontage/TypedStatement.ts"
import type { GateRequest } from "../http/Decision.ts"
import * as NetworkReadiness from "./NetworkReadiness.ts"
import type { Paywall } from "./Paywall.ts"
import type { PriceResolver } from "./PriceResolver.ts"

/** Options of a shop. Its schemes come from the context (`ServerSchemeRegistry`). */
export interface ShopOptions {
  /** The public origin: `https://shop.example`. `Host` and `X-Forwarded-*` are never read. */
  readonly origin: string
  /**
   * Binds payments to requests: at least 32 characters, secret, the same on every server of one shop. In a list the
   * first signs and all are accepted. To replace a secret, add the new one as the second on every server, then make it
   * the first everywhere, and remove the old one once the payments under it are served: an hour later at most.
   */
  readonly secret: string | ReadonlyArray<string>
  /**
   * The client address of a request, for a shop behind its own proxy: the address that this proxy reports, for example
   * `({ header }) => String(header("x-real-ip"))`. Default: the address of the connection. It limits strangers who send
   * bad payments; the facilitator receives only a keyed digest of it.
   */
  readonly clientAddress?: (request: GateRequest) => string | undefined
  /** Limits of the responses that come again, for routes with `repeat: "same"`. */
  readonly responses?: ResponseLimits
  /**
   * A page for people who open a sold address in a browser: `paywall({ name: "My shop" })` of `@pontage/paywall`. Default: they get the
   * same JSON as programs.
   */
  readonly paywall?: Paywall
  /** The path that takes the vouchers of metered routes; default `/payment-voucher`. It then belongs to the gate. */
  readonly voucherPath?: string
  /** Signs receipts and offers: `exactEvm.receiptSigner(privateKey)`, or a local account of viem. Default: nothing is signed. */
  readonly receipts?: ReceiptSigner
}

/** Limits of kept responses. */
export interface ResponseLimits {
  /** Limit on the body of a kept response, in bytes: 1 to 8 Mi, default 64 Ki. A longer response is served and not kept. */
  readonly maximumBytes?: number
  /** Time for which a response is kept: default 10 minutes, at most 24 hours. */
  readonly age?: Duration.Input
}

/** The keys of the options, for callers that add their own. */
export const keys: OptionCheck.Table<ShopOptions> = {
  origin: OptionCheck.any(),
  secret: OptionCheck.any(),
  clientAddress: OptionCheck.optional(OptionCheck.callable()),
  responses: OptionCheck.optional(
    OptionCheck.options<ResponseLimits>({
      maximumBytes: OptionCheck.optional(OptionCheck.whole(1, 8 * 1024 * 1024)),
      age: OptionCheck.optional(OptionCheck.duration)
    })
  ),
  paywall: OptionCheck.optional(OptionCheck.having('a page, such as paywall({ name: "My shop" })', "page", "file")),
  voucherPath: OptionCheck.optional(
    OptionCheck.given(
      'a path such as "/payment-voucher"',
      (path) => typeof path === "string" && /^(?:\/[\w.~-]+)+$/.test(path) && path.length <= 200
    )
  ),
  receipts: OptionCheck.optional(
    OptionCheck.having("a signer, such as exactEvm.receiptSigner(privateKey)", "address", "signTypedData")
  )
}

/** A metered option of a route, as far as its vouchers are compared with it. */
export interface MeteredOption {
  readonly scheme: string
  readonly network: Network
  readonly payTo: string
  readonly asset: Asset
  readonly extra: Readonly<Record<string, Schema.Json>>
  readonly schemeServer: SchemeServer
  readonly proof: NetworkReadiness.NetworkReadiness
  readonly metered: { readonly window: bigint }
}

/** A checked shop. Its maps grow with its routes, for the checks across routes. */
export interface Shop {
  readonly origin: string
  /** The first signs. */
  readonly secrets: readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]
  readonly prices: PriceResolver["Service"]
  readonly schemes: ServerSchemeRegistry["Service"]
  /** The checks that must succeed before anything is sold, by scheme and network. */
  readonly proofs: Map<string, NetworkReadiness.NetworkReadiness>
  /** The network of each scheme server registered without one: that of the first route. */
  readonly chosen: Map<SchemeServer, string>
  /** Recipients as written, and their family. */
  readonly recipients: Map<string, string>
  /** The client address of a request, if known. Never throws. */
  readonly addressOf: (request: GateRequest) => string | undefined
  readonly responses: { readonly maximumBytes: number; readonly ageMillis: number }
  /** Whether the host keeps responses, so that routes may have them come again. */
  readonly keepsResponses: boolean
  readonly paywall: Paywall | undefined
  readonly receipts: ReceiptSigner | undefined
  readonly voucherPath: string
  /** The metered options of all routes. */
  readonly metered: Array<MeteredOption>
}

const minimumSecretLength = 32

/** Checks the options. */
export const make = (
  options: ShopOptions & {
    readonly prices: PriceResolver["Service"]
    readonly schemes: ServerSchemeRegistry["Service"]
    /** Default: the caller keeps responses itself. */
    readonly keepsResponses?: boolean
  }
): Result.Result<Shop, Misconfigured> =>
  Result.gen(function* () {
    const origin = yield* originOf(options.origin)
    const secrets = yield* secretsOf(options.secret)
    const responses = yield* limitsOf(options.responses ?? {})
    return {
      origin,
      secrets,
      responses,
      keepsResponses: options.keepsResponses ?? true,
      paywall: options.paywall,
      receipts: options.receipts,
      voucherPath: options.voucherPath ?? "/payment-voucher",
      metered: [],
      schemes: options.schemes,
      prices: options.prices,
      proofs: new Map(),
      chosen: new Map(),
      recipients: new Map(),
      addressOf: addressOf(options.clientAddress)
    }
  })

const longestAge = Duration.hours(24)

const limitsOf = ({
  age = "10 minutes",
  maximumBytes = 64 * 1024
}: ResponseLimits): Result.Result<Shop["responses"], Misconfigured> => {
  const duration = Duration.fromInputUnsafe(age)
  return Duration.isLessThanOrEqualTo(duration, longestAge)
    ? Result.succeed({ maximumBytes, ageMillis: Duration.toMillis(duration) })
    : mistake(`responses.age: expected at most 24 hours, got ${Duration.format(duration)}`)
}

/** Wraps the operator's function; if it fails the address is unknown, and no request is refused for that. */
const addressOf =
  (addressFrom: ShopOptions["clientAddress"]): Shop["addressOf"] =>
  (request) => {
    try {
      const address: unknown = addressFrom === undefined ? request.clientAddress : addressFrom(request)
      return typeof address === "string" ? address : undefined
    } catch {
      return undefined
    }
  }

const originOf = (text: string): Result.Result<string, Misconfigured> => {
  const unset = OptionCheck.unsetSetting('the shop\'s public origin such as "https://shop.example"', text)
  if (unset !== undefined) return mistake(`origin: ${unset.problem}`)
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return mistake(`origin: expected the shop's public origin such as "https://shop.example", got ${quote(text)}`)
  }
  if (url.href !== `${url.origin}/`) {
    return mistake(`origin: expected an origin without user, path, query or fragment; write ${quote(url.origin)}`)
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    return mistake(`origin: ${quote(text)} is plain http, which shows payments to everyone on the way; use https`)
  }
  return Result.succeed(url.origin)
}

/** Limit on accepted secrets: each costs one digest for every offer of a payment that is not ours. */
const maximumSecrets = 4

/** Reads the secrets; messages never contain them. */
const secretsOf = (given: ShopOptions["secret"]): Result.Result<Shop["secrets"], Misconfigured> => {
  const texts: ReadonlyArray<unknown> = Array.isArray(given) ? given : [given]
  const unset = OptionCheck.unsetSetting(
    `at least ${minimumSecretLength} characters that only this shop's servers know, such as "openssl rand -base64 32" makes`,
    given
  )
  if (unset !== undefined) return mistake(`secret: ${unset.problem}`)
  if (texts.length > maximumSecrets) return mistake(`secret: expected at most ${maximumSecrets}, got ${texts.length}`)
  if (new Set(texts).size !== texts.length) return mistake("secret: two of the list are the same; keep one")
  const [first, ...older] = texts.flatMap((text) =>
    typeof text === "string" && text.length >= minimumSecretLength ? [new TextEncoder().encode(text)] : []
  )
  return first !== undefined && older.length + 1 === texts.length
    ? Result.succeed([first, ...older])
    : mistake(
        `secret: expected at least ${minimumSecretLength} characters that only this shop's servers know, the same on all of them, or a list of such; make one with "openssl rand -base64 32"`
      )
}

const mistake = (message: string) => Result.fail(new Misconfigured({ message }))

const quote = (value: unknown): string => JSON.stringify(value) ?? typeof value

/** Adds a route's asset on this network to the shop's checks, and returns the check. */
export const prove = (shop: Shop, schemeServer: SchemeServer, asset: Asset): NetworkReadiness.NetworkReadiness => {
  const key = `${schemeServer.scheme.name} ${asset.network}`
  const proof = shop.proofs.get(key) ?? NetworkReadiness.make(schemeServer, asset.network)
  shop.proofs.set(key, proof)
  NetworkReadiness.add(proof, asset)
  return proof
}
