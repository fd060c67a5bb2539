/**
 * The issuer of CCTP's tokens on local chains: an attester over HTTP with Circle's paths and responses. It attests what it is told to, with
 * a nonce for each message and its fee.
 */
import { createServer, type ServerResponse } from "node:http"

import type { EvmTestAccounts, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import { concatHex, type Hex, isHash, keccak256, parseAbi, parseEventLogs, slice, toHex } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import * as LoopbackServer from "../LoopbackServer.ts"

const abi = parseAbi(["event MessageSent(bytes message)"])

/** Its fee for fast messages, in basis points. */
export const fastFee = 1.3

/** How it attests. */
export interface Terms {
  /** Whether it attests what is sent from now on. */
  attests: boolean
  /** The block of the other chain at which attestations end; zero for never. A message that is attested again has none. */
  expires: bigint
  /** Whether it responds to everything with an error. */
  fails: boolean
  /** Whether its attestations are of a key that is not the issuer's. */
  forges: boolean
  /** Whether it has attested everything a second time, as of final blocks: the same nonces without a fee. Either one can be delivered. */
  repeats: boolean
}

/** The ways in which it can be told to behave; `attest` is the usual. */
export const behaviours = ["attest", "withhold", "fail", "forge", "repeat"] as const

/** One of them. */
export type Behaviour = (typeof behaviours)[number]

/** The attester. */
export interface LocalAttester {
  readonly url: string
  readonly terms: Terms
  /** Sets its terms: `withhold` attests nothing that is not attested yet, `fail`, `forge` and `repeat` are those of {@link Terms}. */
  readonly behave: (behaviour: Behaviour) => Effect.Effect<void>
  /** Attests everything that was sent so far. */
  readonly attest: Effect.Effect<void>
  /** Attests everything that was sent up to a block. */
  readonly attestUpTo: (block: bigint) => Effect.Effect<void>
  /** The first attestation of the first message of a transaction, whatever it responds over HTTP. */
  readonly attested: (
    transaction: Hex
  ) => Effect.Effect<{ readonly message: Hex; readonly attestation: Hex } | undefined>
}

interface Sent {
  readonly message: Hex
  readonly nonce: Hex
  readonly isAttested: boolean
}

/** Its state. */
interface State {
  readonly client: EvmTestChain.ChainClient
  readonly attester: EvmTestAccounts.TestAccount
  readonly terms: Terms
  /** The nonces of messages that were attested again. */
  readonly again: Set<string>
  /** The block up to which all is attested. */
  attestedUpTo: bigint
}

/** Starts it for messages from a chain; it ends with the scope. */
export const make = Effect.fnUntraced(function* (
  { client }: EvmTestChain.Shape,
  attester: EvmTestAccounts.TestAccount,
  port = 0
) {
  const terms: Terms = { attests: true, expires: 0n, fails: false, forges: false, repeats: false }
  const state: State = { client, attester, terms, again: new Set(), attestedUpTo: 0n }
  const server = createServer((request, response) => {
    void respond(state, request.method ?? "GET", request.url ?? "/", response).catch(() => response.destroy())
  })
  const made: LocalAttester = {
    url: yield* LoopbackServer.listen(server, port),
    terms,
    behave: (behaviour) =>
      Effect.sync(() => {
        terms.attests = behaviour !== "withhold"
        terms.fails = behaviour === "fail"
        terms.forges = behaviour === "forge"
        terms.repeats = behaviour === "repeat"
      }),
    attest: Effect.promise(async () => {
      state.attestedUpTo = await client.getBlockNumber()
    }),
    attestUpTo: (block) => Effect.sync(() => void (state.attestedUpTo = block)),
    attested: (transaction) =>
      Effect.promise(async () => {
        const [first] = await sentBy(state, transaction)
        return first && (await attestationOf({ ...state, terms: { ...terms, forges: false, repeats: false } }, first))
      })
  }
  return made
})

/** The nonce of a message, by the transaction that has sent it and the place of its event in the block. */
export const nonceOf = (transaction: Hex, logIndex: number): Hex => keccak256(concatHex([transaction, toHex(logIndex)]))

const sentBy = async ({ attestedUpTo, client, terms }: State, hash: Hex): Promise<ReadonlyArray<Sent>> => {
  const receipt = await client.getTransactionReceipt({ hash }).catch(() => undefined)
  if (receipt === undefined) return []
  const isAttested = terms.attests || receipt.blockNumber <= attestedUpTo
  return parseEventLogs({ abi, eventName: "MessageSent", logs: receipt.logs }).map(({ args, logIndex }) => ({
    message: args.message,
    nonce: nonceOf(hash, logIndex),
    isAttested
  }))
}

const attestationOf = async ({ again, attester, terms }: State, { message, nonce }: Sent) => {
  const amount = BigInt(slice(message, 216, 248))
  const maxFee = BigInt(slice(message, 280, 312))
  const isFast = Number(slice(message, 140, 144)) < 2_000 && !terms.repeats
  const fee = isFast ? (amount * BigInt(fastFee * 10) + 99_999n) / 100_000n : 0n
  const attested = concatHex([
    slice(message, 0, 12),
    nonce,
    slice(message, 44, 144),
    toHex(isFast ? 1_000 : 2_000, { size: 4 }),
    slice(message, 148, 312),
    toHex(fee < maxFee ? fee : maxFee, { size: 32 }),
    toHex(again.has(nonce) ? 0n : terms.expires, { size: 32 })
  ])
  const signer = terms.forges ? stranger : attester
  return { message: attested, attestation: await signer.sign({ hash: keccak256(attested) }) }
}

const messagesOf = async (state: State, transaction: Hex) =>
  Promise.all(
    (await sentBy(state, transaction)).map(async (one) => {
      if (!one.isAttested) {
        return { message: "0x", attestation: "PENDING", status: "pending_confirmations", delayReason: null }
      }
      const { attestation, message } = await attestationOf(state, one)
      return { message, attestation, status: "complete" }
    })
  )

/** The key of forged attestations, which is no party's. */
const stranger = privateKeyToAccount(`0x${"f0".repeat(32)}`)

const fees = [
  { finalityThreshold: 1_000, minimumFee: fastFee },
  { finalityThreshold: 2_000, minimumFee: 0 }
]

const respond = async (state: State, method: string, target: string, response: ServerResponse): Promise<void> => {
  const { pathname, searchParams } = new URL(target, "http://attester")
  const json = (value: unknown) =>
    void response.setHeader("Content-Type", "application/json").end(JSON.stringify(value))
  if (state.terms.fails) return void response.writeHead(503).end("{}")
  if (pathname.startsWith("/v2/burn/USDC/fees/")) return json(fees)
  const [, nonce] = /^\/v2\/reattest\/(0x[0-9a-f]{64})$/.exec(pathname) ?? []
  if (method === "POST" && nonce !== undefined) {
    state.again.add(nonce)
    return json({ message: "Attestation requested" })
  }
  const transaction = searchParams.get("transactionHash") ?? ""
  const messages = isHash(transaction) ? await messagesOf(state, transaction) : []
  return messages.length > 0 ? json({ messages }) : void response.writeHead(404).end("{}")
}
