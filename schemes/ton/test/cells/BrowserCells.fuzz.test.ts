/** The cells that browsers get, against those of `@ton/core`: the same bytes, hashes and readings. */
import { assert, describe, it } from "@effect/vitest"
import * as Core from "@ton/core"
import * as fc from "fast-check"

import * as Browser from "../../src/cells/BrowserCells.ts"

/** Fields of a cell, to be written by both libraries. */
type Field =
  | { readonly kind: "uint"; readonly value: bigint; readonly bits: number }
  | { readonly kind: "int"; readonly value: bigint; readonly bits: number }
  | { readonly kind: "coins"; readonly value: bigint }
  | { readonly kind: "bytes"; readonly value: Uint8Array }
  | { readonly kind: "address"; readonly value: string | null }
  | { readonly kind: "ref"; readonly value: Tree }

interface Tree {
  readonly fields: ReadonlyArray<Field>
}

const uint = fc
  .integer({ min: 1, max: 64 })
  .chain((bits) =>
    fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n }).map((value): Field => ({ kind: "uint", value, bits }))
  )
const int = fc.integer({ min: 2, max: 32 }).chain((bits) => {
  const most = 1n << BigInt(bits - 1)
  return fc.bigInt({ min: -most, max: most - 1n }).map((value): Field => ({ kind: "int", value, bits }))
})
const coins = fc.bigInt({ min: 0n, max: (1n << 120n) - 1n }).map((value): Field => ({ kind: "coins", value }))
const bytes = fc.uint8Array({ maxLength: 20 }).map((value): Field => ({ kind: "bytes", value }))
const raw = fc
  .tuple(fc.constantFrom(0, -1), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(([workchain, hash]) => `${workchain}:${Buffer.from(hash).toString("hex")}`)
const address = fc.option(raw).map((value): Field => ({ kind: "address", value }))

const tree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc
    .record({
      plain: fc.array(fc.oneof(uint, int, coins, bytes, address), { maxLength: 3 }),
      refs: fc.oneof({ depthSize: "small" }, fc.constant<Array<Tree>>([]), fc.array(tie("tree"), { maxLength: 3 }))
    })
    .map(({ plain, refs }: { readonly plain: ReadonlyArray<Field>; readonly refs: ReadonlyArray<Tree> }) => ({
      fields: [...plain, ...refs.map((value): Field => ({ kind: "ref", value }))]
    }))
})).tree

const byCore = ({ fields }: Tree): Core.Cell => {
  const builder = Core.beginCell()
  for (const field of fields) {
    if (field.kind === "uint") builder.storeUint(field.value, field.bits)
    else if (field.kind === "int") builder.storeInt(field.value, field.bits)
    else if (field.kind === "coins") builder.storeCoins(field.value)
    else if (field.kind === "bytes") builder.storeBuffer(Buffer.from(field.value))
    else if (field.kind === "ref") builder.storeRef(byCore(field.value))
    else builder.storeAddress(field.value === null ? null : Core.Address.parseRaw(field.value))
  }
  return builder.endCell()
}

const inBrowser = ({ fields }: Tree): Browser.Cell => {
  const builder = Browser.beginCell()
  for (const field of fields) {
    if (field.kind === "uint") builder.storeUint(field.value, field.bits)
    else if (field.kind === "int") builder.storeInt(field.value, field.bits)
    else if (field.kind === "coins") builder.storeCoins(field.value)
    else if (field.kind === "bytes") Browser.storeBytes(builder, field.value)
    else if (field.kind === "ref") builder.storeRef(inBrowser(field.value))
    else builder.storeAddress(field.value === null ? null : Browser.Address.parseRaw(field.value))
  }
  return builder.endCell()
}

const hex = (value: Uint8Array) => Buffer.from(value).toString("hex")

/** A cell's fields as both libraries read them. */
const readByCore = (cell: Core.Cell, { fields }: Tree): ReadonlyArray<unknown> => {
  const slice = cell.beginParse()
  const values = fields.map((field): unknown => {
    if (field.kind === "uint") return slice.loadUintBig(field.bits)
    if (field.kind === "int") return slice.loadInt(field.bits)
    if (field.kind === "coins") return slice.loadCoins()
    if (field.kind === "bytes") return hex(slice.loadBuffer(field.value.length))
    return field.kind === "ref" ? readByCore(slice.loadRef(), field.value) : slice.loadMaybeAddress()?.toRawString()
  })
  return [...values, slice.remainingBits, slice.remainingRefs]
}

const readInBrowser = (cell: Browser.Cell, { fields }: Tree): ReadonlyArray<unknown> => {
  const slice = cell.beginParse()
  const values = fields.map((field): unknown => {
    if (field.kind === "uint") return slice.loadUintBig(field.bits)
    if (field.kind === "int") return slice.loadInt(field.bits)
    if (field.kind === "coins") return slice.loadCoins()
    if (field.kind === "bytes") return hex(Browser.loadBytes(slice, field.value.length))
    return field.kind === "ref" ? readInBrowser(slice.loadRef(), field.value) : slice.loadMaybeAddress()?.toRawString()
  })
  return [...values, slice.remainingBits, slice.remainingRefs]
}

describe("cells in browsers", () => {
  it("have the hash, the depth and the fields of the library's", () => {
    fc.assert(
      fc.property(tree, (given) => {
        const theirs = byCore(given)
        const ours = inBrowser(given)
        assert.strictEqual(hex(ours.hash()), hex(theirs.hash()))
        assert.strictEqual(ours.depth, theirs.depth())
        assert.deepStrictEqual(readInBrowser(ours, given), readByCore(theirs, given))
      })
    )
  })

  it("are read from the library's bags, of each form, and the library reads theirs", () => {
    fc.assert(
      fc.property(tree, fc.boolean(), fc.boolean(), (given, idx, crc32) => {
        const theirs = byCore(given)
        const read = Browser.cellFrom(theirs.toBoc({ idx, crc32 }))
        assert.strictEqual(hex(read.hash()), hex(theirs.hash()))
        assert.isTrue(read.equals(inBrowser(given)))
        const [back] = Core.Cell.fromBoc(Buffer.from(Browser.bytesOf(read)))
        assert.strictEqual(back?.hash().toString("hex"), hex(theirs.hash()))
      })
    )
  })

  it("refuse a bag with any bit flipped, and never read another cell from it", () => {
    const cell = inBrowser({ fields: [{ kind: "uint", value: 5n, bits: 3 }] })
    const bag = Browser.bytesOf(Browser.beginCell().storeRef(cell).storeRef(cell).storeUint(7, 9).endCell())
    for (let bit = 0; bit < bag.length * 8; bit++) {
      const flipped = Uint8Array.from(bag)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (128 >> (bit & 7))
      assert.throws(() => Browser.cellFrom(flipped), undefined, undefined, `bit ${bit}`)
    }
    for (let length = 0; length < bag.length; length++) assert.throws(() => Browser.cellFrom(bag.subarray(0, length)))
  })

  it("throw where the library throws: at the end of a cell, and for numbers that do not fit", () => {
    const slice = Browser.beginCell().storeUint(1, 8).endCell().beginParse()
    assert.throws(() => slice.loadUint(9))
    assert.throws(() => slice.loadRef())
    assert.throws(() => Browser.beginCell().storeUint(256, 8))
    assert.throws(() => Browser.beginCell().storeInt(-129, 8))
    assert.throws(() => Browser.beginCell().storeCoins(1n << 120n))
    const full = Browser.beginCell().storeUint(0, 1023)
    assert.throws(() => full.storeBit(1))
  })
})

describe("addresses in browsers", () => {
  it("are read as the library reads them, in each user-friendly form", () => {
    fc.assert(
      fc.property(raw, fc.boolean(), fc.boolean(), fc.boolean(), (text, urlSafe, bounceable, testOnly) => {
        const written = Core.Address.parseRaw(text).toString({ urlSafe, bounceable, testOnly })
        const { address: read, isBounceable, isTestOnly } = Browser.Address.parseFriendly(written)
        assert.deepStrictEqual([read.toRawString(), isBounceable, isTestOnly], [text, bounceable, testOnly])
      })
    )
  })

  it("are refused with any character changed", () => {
    const text = Core.Address.parseRaw(`0:${"ab".repeat(32)}`).toString()
    for (let at = 0; at < text.length; at++) {
      const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)
      assert.throws(() => Browser.Address.parseFriendly(changed))
    }
  })
})

describe("state inits in browsers", () => {
  it("deploy to the address that the library computes, and are read back", () => {
    fc.assert(
      fc.property(tree, tree, (code, data) => {
        const theirs = Core.contractAddress(0, { code: byCore(code), data: byCore(data) })
        const init = { code: inBrowser(code), data: inBrowser(data) }
        assert.strictEqual(Browser.contractAddress(0, init).toRawString(), theirs.toRawString())
        const stored = Browser.beginCell().store(Browser.storeStateInit(init)).endCell()
        const read = Browser.loadStateInit(stored.beginParse())
        assert.isTrue(read.code?.equals(init.code))
        assert.isTrue(read.data?.equals(init.data))
      })
    )
  })
})
