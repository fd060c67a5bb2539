/**
 * The attester of Circle's CCTP, version 2, over HTTP: its fee, and the attestations of messages. Nothing that it says is trusted: a fee
 * is only offered to payers, and the other chain checks an attestation before it makes a token.
 */
import { ChainNodeClient, ChainUnavailable, HttpOrigin, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as EvmHex from "../primitives/EvmHex.ts"
import * as CctpFinality from "../route/CctpFinality.ts"
import type { AttestedMessage } from "./CctpCalls.ts"
import * as CctpMessage from "./CctpMessage.ts"
import type * as CctpSent from "./CctpSent.ts"

/** Settings of routes over CCTP. */
export interface Options {
  /** The issuer's attester, such as `https://iris-api.circle.com`. */
  readonly attesterUrl: string
  /**
   * `fast` messages are attested within seconds, for a fee of the issuer; `standard` ones once their block is final. Default `fast`.
   */
  readonly finality?: CctpFinality.CctpFinality
}

/** The check of {@link Options}. */
export const check = OptionCheck.options<Options>({
  attesterUrl: OptionCheck.nodeUrl("https://iris-api.circle.com"),
  finality: OptionCheck.optional(OptionCheck.oneOf("fast", "standard"))
})

/** The attester's response about a message: the message itself, attested, or the reason why it is not yet. */
export type Attestation =
  | (AttestedMessage & { readonly _tag: "Attested"; readonly read: CctpMessage.CctpMessage })
  | { readonly _tag: "Underway"; readonly reason: string }

/** The attester. */
export interface CctpAttester {
  /** A route's options: the least finality, as one word. */
  readonly options: EvmHex.Hex
  /** The issuer's fee from one domain to another now, as `IssuerFee` counts it. */
  readonly rate: (source: number, destination: number) => Effect.Effect<bigint, ChainUnavailable>
  /** The attestation of a message that this transaction has sent. */
  readonly attestationOf: (
    source: number,
    transaction: string,
    sent: CctpSent.SentMessage
  ) => Effect.Effect<Attestation, ChainUnavailable>
  /** Asks for another attestation of a message whose first one has expired. */
  readonly attestAgain: (nonce: EvmHex.Hex) => Effect.Effect<void, ChainUnavailable>
}

const Fees = Schema.Array(
  Schema.Struct({
    finalityThreshold: Schema.Int,
    /** Basis points. */
    minimumFee: Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))
  })
)

const Messages = Schema.Struct({
  messages: Schema.Array(
    Schema.Struct({
      status: Schema.String,
      message: Schema.NullishOr(Schema.String),
      attestation: Schema.NullishOr(Schema.String),
      delayReason: Schema.optional(Schema.NullOr(Schema.String))
    })
  )
})

const maximumBytes = 262_144
const timeout = "5 seconds"
const freshMillis = 30_000
/** The longest attestation, in bytes: fifteen signatures. */
const longestAttestation = 15 * 65
/** The longest part of the attester's own text that is repeated. */
const longestReason = 100

/** Makes the client of an attester, for payments on a network. */
export const make = Effect.fnUntraced(function* (
  network: string,
  { attesterUrl, finality = "fast" }: Options
): Effect.fn.Return<CctpAttester, Misconfigured> {
  if (!URL.canParse(attesterUrl)) {
    return yield* new Misconfigured({ message: "exactEvm.facilitator: routes.cctp.attesterUrl is not a URL" })
  }
  const { origin, pathname } = new URL(attesterUrl)
  const base = pathname.replace(/\/+$/, "")
  const server = (yield* HttpOrigin.HttpOrigins)(origin)
  // The reasons are public, in shops' responses too: they do not name the host, which may be one of the operator's own.
  const unavailable = (what: string) =>
    new ChainUnavailable({ network, message: `CCTP's attester ${what}`, lack: "bridge_unavailable" })
  const send = (method: "GET" | "POST", path: string) =>
    Effect.timeoutOrElse(
      Effect.mapError(server.send({ method, path: base + path, headers: {}, maximumBytes, redirect: "error" }), () =>
        unavailable("could not be reached")
      ),
      { duration: timeout, orElse: () => Effect.fail(unavailable(`did not respond within ${timeout}`)) }
    )
  const asked = Effect.fnUntraced(function* (path: string) {
    const { body, status } = yield* send("GET", path)
    if (status === 404) return undefined
    if (status !== 200) return yield* unavailable(`responded with status ${status}`)
    return yield* Effect.mapError(Effect.fromResult(ChainNodeClient.readJson(body)), unavailable)
  })
  const rates = new Map<string, { readonly rate: bigint; readonly until: number }>()
  const rate = Effect.fnUntraced(function* (source: number, destination: number) {
    const path = `/v2/burn/USDC/fees/${source}/${destination}`
    const now = yield* Clock.currentTimeMillis
    const known = rates.get(path)
    if (known !== undefined && known.until > now) return known.rate
    const fees = Schema.decodeUnknownResult(Fees)(yield* asked(path))
    const fee =
      Result.isSuccess(fees) &&
      fees.success.find(({ finalityThreshold }) => finalityThreshold === CctpFinality.thresholds[finality])?.minimumFee
    if (typeof fee !== "number") return yield* unavailable(`names no fee for ${finality} messages`)
    const found = BigInt(Math.ceil(fee * 1_000))
    rates.set(path, { rate: found, until: now + freshMillis })
    return found
  })
  return {
    options: CctpFinality.optionsOf(finality),
    rate,
    attestationOf: (source, transaction, sent) =>
      Effect.flatMap(asked(`/v2/messages/${source}?transactionHash=${transaction}`), (json) =>
        json === undefined
          ? Effect.succeed(underway("the issuer does not know it yet"))
          : Result.match(Schema.decodeUnknownResult(Messages)(json), {
              onFailure: ({ message }) => Effect.fail(unavailable(`responded with something else: ${message}`)),
              onSuccess: ({ messages }) => Effect.succeed(attestationIn(messages, sent))
            })
      ),
    attestAgain: (nonce) => Effect.asVoid(send("POST", `/v2/reattest/${nonce}`))
  }
})

const underway = (reason: string): Attestation => ({ _tag: "Underway", reason })

/** The attestation among those of a transaction. Messages with the same bytes are told apart by their nonces once all of them are attested. */
const attestationIn = (messages: (typeof Messages.Type)["messages"], sent: CctpSent.SentMessage): Attestation => {
  const found = messages.flatMap(({ attestation, message: text, status }) => {
    if (status !== "complete" || !EvmHex.isHex(text) || !EvmHex.isHex(attestation)) return []
    const message = EvmHex.toLowerCase(text)
    const read = CctpMessage.read(message)
    if (read === undefined || attestation.length > 2 + 2 * longestAttestation) return []
    return CctpMessage.isAttestationOf(sent.message, message) ? [{ message, attestation, read }] : []
  })
  const own = found.toSorted((a, b) => (a.read.nonce < b.read.nonce ? -1 : 1))[sent.place]
  if (own !== undefined && found.length === sent.count) return { _tag: "Attested", ...own }
  const reason = messages
    .find(({ delayReason }) => typeof delayReason === "string")
    ?.delayReason?.slice(0, longestReason)
  return underway(`the issuer has not attested it yet${reason ? ` (${reason})` : ""}`)
}
