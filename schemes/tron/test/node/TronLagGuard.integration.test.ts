/** A node that is behind others: a refusal by its state is not a verdict. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { TronTestChain } from "../../src/testing/index.ts"
import * as ScriptedNode from "../ScriptedNode.ts"
import * as Payment from "../TronTestPayment.ts"

/** A proxy before the chain's node, which repeats its earlier responses to some requests. */
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

describe("a payer whose money arrived in the last block", () => {
  layer(TronTestChain.layer({ payers: 2, payerBalance: 1n }), { excludeTestServices: true })((it) => {
    it.effect("is accepted though one of the nodes lacks the block, and gets no verdict while all lack it", () =>
      Effect.gen(function* () {
        const { accounts, mine, mint } = yield* TronTestChain.TronTestChain
        const node = yield* behindSometimes()
        const scheme = yield* Payment.schemeFacilitator({ rpcUrl: node.url })
        const payer = accounts.payers[1] ?? accounts.payers[0]
        node.forget()
        const payment = yield* Payment.read(scheme, yield* Payment.payment({ payer, signer: payer }))
        assert.strictEqual(yield* Payment.outcome(scheme.verify(payment)), "INSUFFICIENT_BALANCE token")
        assert.strictEqual(yield* scheme.balance(payment), 1n)
        yield* mint(payer.address, 1_000_000n)
        yield* mine(1)
        yield* scheme.chainHead
        // One reading in all.
        node.fallBehind(7)
        assert.strictEqual(yield* Payment.outcome(scheme.verify(payment)), "ok")
        node.fallBehind(1)
        assert.isTrue((yield* scheme.balance(payment)) > 1n)
        node.fallBehind(Number.POSITIVE_INFINITY)
        assert.strictEqual(yield* Payment.outcome(scheme.verify(payment)), "ChainUnavailable")
      })
    )
  })
})
