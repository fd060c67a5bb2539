/** A node that is behind its fellows: what it says against a payment is no verdict. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { TronTestChain } from "../../src/testing/index.ts"
import * as ScriptedNode from "../ScriptedNode.ts"
import * as Payment from "../TronTestPayment.ts"

/** A node before the chain's: to some questions it gives the answers that it gave to the same ones before. */
const behindSometimes = Effect.fnUntraced(function* () {
  const { rpcUrl } = yield* TronTestChain.TronTestChain
  const earlier = new Map<string, string>()
  let stale = 0
  const ask = async (path: string, body: string): Promise<string> => {
    const known = earlier.get(path + body)
    if (known !== undefined && stale-- > 0) return known
    const answer = await fetch(`${rpcUrl}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body
    })
    const text = await answer.text()
    if (!earlier.has(path + body)) earlier.set(path + body, text)
    return text
  }
  const node = yield* ScriptedNode.make(
    (response, { body, path }) => void ask(path, JSON.stringify(body)).then((text) => response.end(text))
  )
  return { url: node.url, forget: () => earlier.clear(), fallBehind: (answers: number) => void (stale = answers) }
})

describe("a payer whose money came in the last block", () => {
  layer(TronTestChain.layer({ payers: 2, payerBalance: 1n }), { excludeTestServices: true })((it) => {
    it.effect("is good, though one of the nodes does not know of it; neither good nor bad while none does", () =>
      Effect.gen(function* () {
        const { accounts, mine, mint } = yield* TronTestChain.TronTestChain
        const node = yield* behindSometimes()
        const half = yield* Payment.half({ rpcUrl: node.url })
        const payer = accounts.payers[1] ?? accounts.payers[0]
        node.forget()
        const payment = yield* Payment.read(half, yield* Payment.payment({ payer, signer: payer }))
        assert.strictEqual(yield* Payment.outcome(half.verify(payment)), "INSUFFICIENT_BALANCE token")
        assert.strictEqual(yield* half.balance(payment), 1n)
        yield* mint(payer.address, 1_000_000n)
        yield* mine(1)
        yield* half.chainHead
        // One look in all.
        node.fallBehind(7)
        assert.strictEqual(yield* Payment.outcome(half.verify(payment)), "ok")
        node.fallBehind(1)
        assert.isTrue((yield* half.balance(payment)) > 1n)
        node.fallBehind(Number.POSITIVE_INFINITY)
        assert.strictEqual(yield* Payment.outcome(half.verify(payment)), "ChainUnavailable")
      })
    )
  })
})
