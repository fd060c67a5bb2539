import { assert, describe, it } from "@effect/vitest"
import { beginCell, Cell } from "@ton/core"
import * as fc from "fast-check"

import { JettonTransfer, TonAddress, TonBoc, TonMessage, WalletRequest } from "../../src/index.ts"
import * as TonTransaction from "../../src/node/TonTransaction.ts"

const tree: fc.Arbitrary<Cell> = fc.letrec<{ cell: Cell }>((tie) => ({
  cell: fc
    .record({
      bytes: fc.uint8Array({ maxLength: 100 }),
      refs: fc.oneof({ depthSize: "small" }, fc.constant([]), fc.array(tie("cell"), { maxLength: 3 }))
    })
    .map(({ bytes, refs }) => {
      const builder = beginCell().storeBuffer(Buffer.from(bytes))
      for (const ref of refs) builder.storeRef(ref)
      return builder.endCell()
    })
})).cell

const sizeOf = (cell: Cell): number => new Set(hashes(cell)).size
const hashes = (cell: Cell): ReadonlyArray<string> => [TonBoc.hashOf(cell), ...cell.refs.flatMap(hashes)]

const chain = (length: number) => {
  let cell = Cell.EMPTY
  for (let depth = 1; depth < length; depth++) cell = beginCell().storeUint(depth, 16).storeRef(cell).endCell()
  return cell
}

describe("TonBoc", () => {
  it("reads what it writes, within its bounds", () => {
    fc.assert(
      fc.property(tree, (cell) => {
        const text = TonBoc.toBase64(cell)
        const isWithin = sizeOf(cell) <= TonBoc.maximumCells && text.length <= TonBoc.maximumCharacters
        assert.strictEqual(TonBoc.fromBase64(text)?.hash().toString("hex"), isWithin ? TonBoc.hashOf(cell) : undefined)
      })
    )
  })

  it("reads with an index too, and never without a checksum", () => {
    const cell = chain(5)
    assert.isDefined(TonBoc.fromBase64(cell.toBoc({ idx: true, crc32: true }).toString("base64")))
    assert.isUndefined(TonBoc.fromBase64(cell.toBoc({ idx: false, crc32: false }).toString("base64")))
  })

  it("reads any bytes without throwing", () => {
    for (const head of [Buffer.alloc(0), Buffer.from("b5ee9c7241", "hex"), Buffer.from("b5ee9c72410103", "hex")]) {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
          const cell = TonBoc.fromBase64(Buffer.concat([head, bytes]).toString("base64"))
          assert.isTrue(cell === undefined || cell instanceof Cell)
        })
      )
    }
  })

  it("refuses a bag with any bit flipped, one that is cut off, and one that goes on", () => {
    const bytes = chain(6).toBoc({ idx: false, crc32: true })
    for (let at = 0; at < bytes.length * 8; at++) {
      const flipped = Buffer.from(bytes)
      flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7))
      assert.isUndefined(TonBoc.fromBase64(flipped.toString("base64")), `bit ${at}`)
    }
    for (let length = 0; length < bytes.length; length++)
      assert.isUndefined(TonBoc.fromBase64(bytes.subarray(0, length).toString("base64")))
    assert.isUndefined(TonBoc.fromBase64(Buffer.concat([bytes, Buffer.alloc(1)]).toString("base64")))
  })

  it("limits cells, also those that multiply", () => {
    assert.isDefined(TonBoc.fromBase64(TonBoc.toBase64(chain(TonBoc.maximumCells))))
    assert.isUndefined(TonBoc.fromBase64(TonBoc.toBase64(chain(TonBoc.maximumCells + 1))))
    let bomb = Cell.EMPTY
    for (let depth = 0; depth < 60; depth++) {
      bomb = beginCell().storeRef(bomb).storeRef(bomb).storeRef(bomb).storeRef(bomb).endCell()
    }
    const read = TonBoc.fromBase64(TonBoc.toBase64(bomb))
    assert.isDefined(read)
    if (read === undefined) return
    for (const parse of [
      () => TonMessage.read(read),
      () => WalletRequest.read(read, false),
      () => WalletRequest.read(read, true),
      () => JettonTransfer.read(read),
      () => TonTransaction.read(read)
    ]) {
      assert.isUndefined(TonBoc.attempt<unknown>(parse))
    }
  })

  it("refuses exotic cells and several roots", () => {
    const proof = beginCell().storeUint(2, 8).storeBuffer(Buffer.alloc(32)).endCell({ exotic: true })
    assert.isUndefined(TonBoc.fromBase64(TonBoc.toBase64(beginCell().storeRef(proof).endCell())))
    assert.isUndefined(TonBoc.fromBase64(TonBoc.toBase64(proof)))
  })

  it("refuses text that is longer than a payment can be", () =>
    assert.isUndefined(TonBoc.fromBase64("A".repeat(TonBoc.maximumCharacters + 4))))

  it("refuses base64 that could be written otherwise", () => {
    const text = TonBoc.toBase64(chain(3))
    for (const other of [`${text}=`, text.replaceAll("=", ""), `\n${text}`, text.toLowerCase()])
      assert.isTrue(other === text || TonBoc.fromBase64(other) === undefined)
  })
})

const to = TonAddress.fromHash(Buffer.alloc(32, 3))

describe("the readers of cells", () => {
  it("read any cells without throwing to their caller", () => {
    fc.assert(
      fc.property(tree, (cell) => {
        for (const parse of [
          () => TonMessage.read(cell),
          () => WalletRequest.read(cell, true),
          () => JettonTransfer.read(cell),
          () => TonTransaction.read(cell)
        ]) {
          assert.doesNotThrow(() => TonBoc.attempt<unknown>(parse))
        }
      })
    )
  })

  it("read a transfer as it was written", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 120n - 1n), (queryId, amount) => {
        const transfer = { queryId, amount, to, responseTo: to }
        assert.deepStrictEqual(JettonTransfer.read(JettonTransfer.toCell(transfer)), transfer)
      })
    )
  })
})
