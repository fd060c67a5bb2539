/** A node that fails any request: no payer is blamed for it, none is served, and once the node works the payment settles. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { exactEvm } from "../../src/index.ts"
import { type EvmTestAccounts, EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const faults: Readonly<Record<string, RpcProxy.Fault>> = {
  silence: RpcProxy.silence,
  "an HTML page": RpcProxy.page,
  "HTTP 503": RpcProxy.httpError,
  "a broken connection": RpcProxy.broken,
  "an internal error": RpcProxy.refusal(-32_603, "internal error"),
  "a rate limit": RpcProxy.refusal(-32_005, "rate limit exceeded"),
  "a missing method": RpcProxy.refusal(-32_601, "the method does not exist"),
  null: RpcProxy.result(null),
  "an empty object": RpcProxy.result({}),
  "a word too large": RpcProxy.result(`0x${"f".repeat(65)}`)
}

/** The outcomes of trouble that neither side of the payment has caused. */
const isInfrastructure = (outcome: string) =>
  ["ChainUnavailable", "SettlementPending", "FacilitatorUnavailable"].includes(outcome)

/** Only a silent node is waited for in vain, so a short wait there is no verdict on the machine's speed. */
const rpcTimeoutMillis = (fault: string | undefined) => (fault === "silence" ? 500 : 600_000)

/** Asks again for as long as nothing is known, or what went wrong is of a question from before the node was mended. */
const insist = <A, E extends { readonly _tag: string }, R>(asked: Effect.Effect<A, E, R>) =>
  Effect.retry(asked, { while: ({ _tag }) => isInfrastructure(_tag) })

const through = Effect.fnUntraced(function* (fault?: string, signer?: EvmTestAccounts.TestAccount) {
  const proxy = yield* RpcProxy.make
  // The node works still, but on a busy machine it may respond later than the short wait.
  const facilitator = yield* insist(
    Payment.facilitator({
      ...(signer && { signer }),
      rpcUrl: proxy.url,
      rpcTimeoutMillis: rpcTimeoutMillis(fault),
      settleTimeoutMillis: 300
    })
  )
  return { proxy, ...facilitator }
})

/** Settles one payment through a node that spoils a method, and again when the node is mended. */
const settleThrough = Effect.fnUntraced(function* (
  signer: EvmTestAccounts.TestAccount,
  method: string,
  [name, fault]: readonly [string, RpcProxy.Fault]
) {
  const { proxy, settle } = yield* through(name, signer)
  const { authorization, request } = yield* Payment.signedPayment()
  proxy.spoil(method, fault)
  const outcome = yield* Payment.outcome(settle(request, Payment.claim("first")))
  assert.isTrue(isInfrastructure(outcome), `${name}: ${outcome}`)
  proxy.mend()
  const settled = yield* insist(settle(request, Payment.claim("second")))
  assert.deepStrictEqual([settled.status, settled.execution], ["included", "granted"], name)
  assert.strictEqual(yield* Payment.timesUsed(authorization), 1, name)
})

describe.concurrent("a node in trouble", () => {
  layerEach(EvmTestChain.layer({ payers: 1 }))((it) => {
    it.effect("cannot make a payment valid or invalid", () =>
      Effect.gen(function* () {
        for (const [name, fault] of Object.entries(faults)) {
          const { proxy, verify } = yield* through(name)
          const request = yield* Payment.payment()
          proxy.spoil("eth_call", fault)
          assert.strictEqual(yield* Payment.outcome(verify(request)), "ChainUnavailable", name)
          proxy.mend()
          yield* insist(verify(request))
          proxy.spoil("eth_call", fault)
          assert.strictEqual(yield* Payment.outcome(verify(request)), "ChainUnavailable", `proven, ${name}`)
        }
      })
    )

    it.effect("cannot make a contract account's signature invalid", () =>
      Effect.gen(function* () {
        for (const [name, fault] of Object.entries(faults)) {
          const { proxy, verify } = yield* through(name)
          yield* insist(verify(yield* Payment.payment()))
          const request = yield* Payment.payment({ signature: () => `0x${"12".repeat(70)}` })
          proxy.spoil("eth_getCode", fault)
          assert.strictEqual(yield* Payment.outcome(verify(request)), "ChainUnavailable", name)
        }
      })
    )

    for (const method of [
      "eth_maxPriorityFeePerGas",
      "eth_getBlockByNumber",
      "eth_getTransactionCount",
      "eth_sendRawTransaction",
      "eth_getTransactionReceipt"
    ]) {
      it.effect(`settles once and for all after ${method} failed in every way`, () =>
        Effect.gen(function* () {
          const { accounts } = yield* EvmTestChain.EvmTestChain
          const all = Object.entries(faults)
          // A signer serves one facilitator at a time.
          const shares = accounts.signers.map((signer, share) => ({
            signer,
            faults: all.filter((_, index) => index % accounts.signers.length === share)
          }))
          yield* Effect.forEach(
            shares,
            ({ faults: some, signer }) => Effect.forEach(some, (fault) => settleThrough(signer, method, fault)),
            { concurrency: "unbounded" }
          )
          for (const { address } of accounts.signers) assert.notInclude(yield* Payment.statusesOf(address), "reverted")
        })
      )
    }

    it.effect("settles once when the response to the sent transaction gets lost", () =>
      Effect.gen(function* () {
        const { proxy, settle } = yield* through()
        const { authorization, request } = yield* Payment.signedPayment()
        proxy.spoil("eth_sendRawTransaction", RpcProxy.lostAnswer)
        const settled = yield* insist(settle(request, Payment.claim("lost")))
        assert.strictEqual(settled.status, "included")
        assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
      })
    )

    it.effect("does not start on a chain that is another, nor on one that does not say", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const proxy = yield* RpcProxy.make
        const start = (network?: string, fault?: string) =>
          Payment.outcome(
            exactEvm.facilitator({
              signer: chain.accounts.signers[0],
              rpcUrl: proxy.url,
              rpcTimeoutMillis: rpcTimeoutMillis(fault),
              ...(network !== undefined && { network })
            })
          )
        assert.strictEqual(yield* start("eip155:1"), "Misconfigured")
        assert.strictEqual(yield* start("ethereum"), "Misconfigured")
        for (const method of ["eth_chainId", "eth_getCode"]) {
          for (const [name, fault] of Object.entries(faults)) {
            proxy.spoil(method, fault)
            assert.strictEqual(yield* start(undefined, name), "ChainUnavailable", `${method}: ${name}`)
            proxy.mend()
          }
        }
        proxy.spoil("eth_chainId", RpcProxy.result("0x1"))
        assert.strictEqual(yield* start(chain.network), "Misconfigured")
      })
    )
  })
})
