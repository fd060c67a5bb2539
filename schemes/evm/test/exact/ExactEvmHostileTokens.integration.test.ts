/** Tokens that take the authorization and do not pay: the operator has let them into the table, the chain betrays them. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { encodeFunctionData } from "viem"

import { DollarToken, EvmTestChain, FeeToken, SilentToken } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"

const deployed = Effect.fnUntraced(function* (artifact: EvmTestChain.Artifact) {
  const { accounts, deploy, send, token } = yield* EvmTestChain.EvmTestChain
  const address = yield* deploy(artifact, [token.name, token.symbol, token.version])
  const args = [accounts.payers[0].address, 1_000_000n] as const
  yield* send({ to: address, data: encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args }) })
  return address
})

describe("a hostile token", () => {
  layer(EvmTestChain.layer({ payers: 1 }), { excludeTestServices: true })((it) => {
    for (const [what, artifact] of [
      ["keeps a fee", FeeToken],
      ["moves nothing", SilentToken]
    ] as const) {
      it.effect(`that ${what} is never reported settled`, () =>
        Effect.gen(function* () {
          const token = yield* deployed(artifact)
          const { mine } = yield* EvmTestChain.EvmTestChain
          const patience = { finalityDepth: 2, settleTimeoutMillis: 1_000 }
          const { payment, settle } = yield* Payment.facilitator({ tokens: [token], ...patience })
          const request = yield* Payment.payment({ token })
          const first = yield* Payment.outcome(settle(request, Payment.claim("one")))
          assert.strictEqual(first, "SettlementPending")
          yield* mine(patience.finalityDepth + 1)
          const insisting = Effect.retry(settle(request, Payment.claim("one")), {
            while: ({ _tag }) => _tag === "SettlementPending"
          })
          const outcome = yield* Payment.outcome(insisting)
          assert.match(outcome, /^already_used 0x[0-9a-f]{64}$/)
          const again = yield* Payment.outcome(settle(request, Payment.claim("two")))
          assert.strictEqual(again, outcome)
          const id = yield* Payment.idOf(request)
          const record = yield* payment(id)
          assert.strictEqual(record?.status, "failed")
          assert.strictEqual(record?.execution, "free")
        })
      )
    }

    it.effect("that the operator's table describes wrongly is not settled at all", () =>
      Effect.gen(function* () {
        const { accounts, deploy, token } = yield* EvmTestChain.EvmTestChain
        const renamed = yield* deploy(DollarToken, ["Other Dollar", token.symbol, token.version])
        for (const address of [renamed, accounts.stranger.address]) {
          const { verify } = yield* Payment.facilitator({ tokens: [address] })
          const request = yield* Payment.payment({ token: address })
          assert.strictEqual(yield* Payment.outcome(verify(request)), "ChainUnavailable")
        }
      })
    )
  })
})
