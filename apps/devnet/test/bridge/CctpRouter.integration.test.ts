/**
 * The router over CCTP on two chains. Circle publishes its contracts in no package, so `LocalCctp` stands in for them: its functions
 * and rules are Circle's, its gas is not.
 */
import { assert, describe, it } from "@effect/vitest"
import { DollarToken, type EvmTestChain, LocalCctp } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import {
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  pad,
  parseEventLogs,
  slice,
  toHex,
  type TransactionReceipt
} from "viem"

import * as CctpChains from "../../src/bridge/CctpChains.ts"
import * as SignedRoute from "./SignedRoute.ts"

/** Messages that need no final block of the source. */
const fast = encodeAbiParameters([{ type: "uint32" }], [1_000])

const start = Effect.gen(function* () {
  const { attester, first, router: text, second, source, target } = yield* CctpChains.make
  const { payee, signers } = first.accounts
  const [facilitator] = signers
  const router = SignedRoute.addressed(text)
  const route = (other: Partial<SignedRoute.Route> = {}): SignedRoute.Route => ({
    token: first.token.address,
    bridge: source,
    destination: CctpChains.domains.second,
    recipient: pad(payee.address),
    amount: 10_020n,
    minimum: 10_000n,
    fee: 150n,
    feeRecipient: facilitator.address,
    options: fast,
    tag: pad(toHex(++lastTag)),
    ...other
  })
  const receive = (message: Hex, attestation: Hex) =>
    second.send({
      to: target,
      data: encodeFunctionData({ abi: LocalCctp.abi, functionName: "receiveMessage", args: [message, attestation] })
    })
  return { attester, first, receive, route, router, second, source, ...SignedRoute.make(first, router) }
})

let lastTag = 0n

/** The message of a sending as its issuer attests it: with a nonce and the fee that it takes. */
const attestable = ({ logs }: TransactionReceipt, feeExecuted: bigint, expires = 0n): Hex => {
  const [sent] = parseEventLogs({ abi: LocalCctp.abi, eventName: "MessageSent", logs })
  if (sent === undefined) throw new Error("no message was sent")
  const { message } = sent.args
  return concatHex([
    slice(message, 0, 12),
    keccak256(message),
    slice(message, 44, 312),
    ...[feeExecuted, expires].map((word) => toHex(word, { size: 32 }))
  ])
}

const tokenOf = ({ token }: EvmTestChain.Shape) => ({ address: token.address, abi: DollarToken.abi }) as const

describe("the router over CCTP", () => {
  it.live("pays at least the minimum on the other chain, once, and only what the issuer attests", () =>
    Effect.gen(function* () {
      const { attester, first, pay, receive, route, router, second, signed, source } = yield* start
      const { payee, payers, signers, stranger } = first.accounts
      const payment = yield* signed(route())
      const sending = yield* pay(payment, 0n)
      assert.strictEqual(sending.status, "success")
      const [sent] = parseEventLogs({ abi: SignedRoute.routerAbi, eventName: "Bridged", logs: sending.logs })
      assert.deepStrictEqual(sent?.args, {
        from: payers[0].address,
        nonce: payment.nonce,
        message: pad("0x"),
        arriving: 10_000n
      })
      assert.strictEqual(yield* first.balanceOf(signers[0].address), 150n)
      assert.strictEqual(yield* first.balanceOf(router), 0n)
      const allowance = yield* Effect.promise(() =>
        first.client.readContract({ ...tokenOf(first), functionName: "allowance", args: [router, source] })
      )
      assert.strictEqual(allowance, 0n)
      const message = attestable(sending, 14n)
      const attestation = yield* Effect.promise(() => attester.sign({ hash: keccak256(message) }))
      const foreign = yield* Effect.promise(() => stranger.sign({ hash: keccak256(message) }))
      assert.strictEqual((yield* receive(message, foreign)).status, "reverted")
      const dear = attestable(sending, 21n)
      const overcharged = yield* Effect.promise(() => attester.sign({ hash: keccak256(dear) }))
      assert.strictEqual((yield* receive(dear, overcharged)).status, "reverted")
      const late = attestable(sending, 14n, 1n)
      const expired = yield* Effect.promise(() => attester.sign({ hash: keccak256(late) }))
      assert.strictEqual((yield* receive(late, expired)).status, "reverted")
      assert.strictEqual((yield* receive(message, attestation)).status, "success")
      assert.strictEqual(yield* second.balanceOf(payee.address), 10_006n)
      assert.strictEqual((yield* receive(message, attestation)).status, "reverted")
      assert.strictEqual((yield* pay(payment, 0n)).status, "reverted")
      assert.strictEqual(yield* second.balanceOf(payee.address), 10_006n)
    })
  )

  it.live("refuses every other route than the signed one, coin, and a minimum above the amount", () =>
    Effect.gen(function* () {
      const { first, pay, route, router, signed } = yield* start
      const { stranger } = first.accounts
      const payment = yield* signed(route())
      const changes: Readonly<Record<string, Partial<SignedRoute.Route>>> = {
        recipient: { recipient: pad(stranger.address) },
        destination: { destination: 6 },
        minimum: { minimum: 1n },
        amount: { amount: 10_019n, fee: 151n },
        "fee's recipient": { feeRecipient: stranger.address },
        options: { options: encodeAbiParameters([{ type: "uint32" }], [2_000]) },
        tag: { tag: pad("0xff") },
        bridge: { bridge: stranger.address }
      }
      for (const [name, change] of Object.entries(changes)) {
        const other = { ...payment, route: { ...payment.route, ...change } }
        assert.strictEqual((yield* pay(other, 0n, stranger.address)).status, "reverted", name)
      }
      const forged = { ...payment, signature: SignedRoute.forged(payment.signature) }
      assert.strictEqual((yield* pay(forged, 0n)).status, "reverted")
      assert.strictEqual((yield* pay(payment, 1n)).status, "reverted")
      const greedy = yield* signed(route({ minimum: 10_021n }))
      assert.strictEqual((yield* pay(greedy, 0n)).status, "reverted")
      const free = yield* signed(route({ amount: 10_000n, fee: 0n }))
      assert.strictEqual((yield* pay(free, 0n, stranger.address)).status, "success")
      assert.strictEqual((yield* pay(payment, 0n, stranger.address)).status, "success")
      assert.strictEqual(yield* first.balanceOf(router), 0n)
    })
  )
})
