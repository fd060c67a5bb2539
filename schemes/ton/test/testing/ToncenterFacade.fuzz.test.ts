import { assert, describe, layer } from "@effect/vitest"
import { beginCell, Cell, external, internal, storeMessage, type TupleItem } from "@ton/core"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"

import { SwallowingWallet, TonTestChain } from "../../src/testing/index.ts"
import * as ToncenterStack from "../../src/testing/ToncenterStack.ts"
import * as TonTestTransfer from "./TonTestTransfer.ts"

const chain = TonTestChain.TonTestChain

const integers = fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n - 1n })
const cells = fc.uint8Array({ maxLength: 127 }).map((bytes) => beginCell().storeBuffer(Buffer.from(bytes)).endCell())

/** Every response is JSON with a documented status. */
const answered = async (url: string, method: string, params: unknown): Promise<boolean> => {
  const body = JSON.stringify({ id: "1", jsonrpc: "2.0", method, params })
  const response = await fetch(url, { method: "POST", body })
  const answer = (await response.json()) as { readonly ok: boolean; readonly code?: number }
  return answer.ok ? response.status === 200 : [404, 416, 422, 500].includes(answer.code ?? 0)
}

describe("ToncenterFacade", () => {
  layer(TonTestChain.layer({ payers: 1, newcomers: 1, veterans: 1 }), { excludeTestServices: true })((it) => {
    it.effect("responds to any params of any method", () =>
      Effect.gen(function* () {
        const { rpcUrl } = yield* chain
        const methods = fc.constantFrom("getAddressInformation", "runGetMethod", "sendBoc", "getTransactions")
        const params = fc.oneof(
          fc.jsonValue(),
          fc.record({ address: fc.string(), boc: fc.string(), method: fc.string() })
        )
        const property = fc.asyncProperty(methods, params, (method, value) => answered(rpcUrl, method, value))
        yield* Effect.promise(() => fc.assert(property, { numRuns: 200 }))
      })
    )

    it.effect("survives messages that differ from a signed one in a byte, and executes that one at most once", () =>
      Effect.gen(function* () {
        const { accounts, client, rpcUrl, time } = yield* chain
        const { address, secretKey, wallet } = accounts.relayers[0]
        const timeout = (yield* time) + 600
        const messages = [internal({ to: accounts.stranger.address, value: 1n, bounce: false })]
        const { sendMode } = TonTestTransfer
        const body = wallet.createTransfer({ seqno: 0, secretKey, timeout, sendMode, messages })
        // Without a checksum, so that the changed bytes are read.
        const bytes = beginCell()
          .store(storeMessage(external({ to: address, body })))
          .endCell()
          .toBoc({ crc32: false })
        const place = fc.integer({ min: 0, max: bytes.length - 1 })
        const change = fc.integer({ min: 1, max: 255 })
        const property = fc.asyncProperty(place, change, async (index, difference) => {
          const changed = Buffer.from(bytes)
          changed[index] = (changed[index] ?? 0) ^ difference
          return answered(rpcUrl, "sendBoc", { boc: changed.toString("base64") })
        })
        yield* Effect.promise(() => fc.assert(property, { numRuns: 200 }))
        yield* Effect.promise(() => client.sendFile(bytes).catch(() => undefined))
        assert.strictEqual(yield* Effect.promise(() => client.open(wallet).getSeqno()), 1)
      })
    )

    it.effect("stores and returns a bomb that a contract accepts, and accepts one as an argument", () =>
      Effect.gen(function* () {
        const { client, install } = yield* chain
        let bomb = Cell.EMPTY
        for (let level = 0; level < 60; level++) {
          bomb = beginCell().storeRef(bomb).storeRef(bomb).storeRef(bomb).storeRef(bomb).endCell()
        }
        const init = { code: Cell.fromBase64(SwallowingWallet.code), data: beginCell().storeUint(0, 33).endCell() }
        const address = yield* install(init, 10_000_000_000n)
        const bytes = beginCell()
          .store(storeMessage(external({ to: address, body: bomb })))
          .endCell()
          .toBoc()
        yield* Effect.promise(() => client.sendFile(bytes))
        const [taken] = yield* Effect.promise(() => client.getTransactions(address, { limit: 1 }))
        assert.isTrue(taken?.inMessage?.body.equals(bomb))
        const argument: TupleItem = { type: "cell", cell: bomb }
        const answer = yield* Effect.promise(() => client.runMethodWithError(address, "seqno", [argument]))
        assert.strictEqual(answer.exit_code, 0)
      })
    )

    it.effect("writes numbers and cells of a stack in a readable form", () =>
      Effect.sync(() => {
        const property = fc.property(integers, cells, (value, cell) => {
          const [numberKind, number] = ToncenterStack.fromItem({ type: "int", value })
          assert.deepStrictEqual(ToncenterStack.toItem([numberKind, String(number)]), { type: "int", value })
          const [cellKind, bytes] = ToncenterStack.fromItem({ type: "cell", cell })
          assert(typeof bytes === "object" && bytes !== null && "bytes" in bytes && typeof bytes.bytes === "string")
          const back = ToncenterStack.toItem([cellKind, { bytes: bytes.bytes }])
          assert(back.type === "cell")
          assert.isTrue(back.cell.equals(cell))
        })
        fc.assert(property, { numRuns: 200 })
      })
    )
  })
})
