import { assert, describe, it } from "@effect/vitest"
import { PaymentChange } from "@pontage/core"

import * as RecordImage from "../../src/sqlite/RecordImage.ts"
import * as TrialPayments from "../TrialPayments.ts"

const record = (name: string, serial: bigint, lane?: string) =>
  PaymentChange.created(TrialPayments.payment(name), undefined, serial, lane, 0)

describe("RecordImage", () => {
  it("holds what was kept last, by name and by serial", () => {
    const image = RecordImage.make()
    const queued = record("a", 1n, TrialPayments.lane)
    image.keep(record("a", 1n))
    image.keep(queued)
    assert.strictEqual(image.find("pay_a"), queued)
    assert.strictEqual(image.findSerial(1n), queued)
    assert.isUndefined(image.find("pay_b"))
    image.forget("pay_a")
    assert.isUndefined(image.find("pay_a"))
    assert.isUndefined(image.findSerial(1n))
  })

  it("knows an absent record until one is written, also by a transaction that is taken back", () => {
    const image = RecordImage.make(2)
    assert.isFalse(image.isAbsent("pay_a"))
    for (const name of ["pay_a", "pay_b", "pay_c"]) image.noteAbsent(name)
    assert.deepStrictEqual(["pay_a", "pay_b", "pay_c"].map(image.isAbsent), [false, true, true])
    image.keep(record("b", 1n))
    assert.isFalse(image.isAbsent("pay_b"))
    image.begin()
    image.keep(record("c", 2n))
    image.rollback()
    assert.isFalse(image.isAbsent("pay_c"))
    image.noteAbsent("pay_d")
    image.forget("pay_d")
    assert.isFalse(image.isAbsent("pay_d"), "it may have been written at its end")
  })

  it("holds no more than its limit: the last ones that were new to it", () => {
    const image = RecordImage.make(2)
    for (const [name, serial] of [
      ["a", 1n],
      ["b", 2n],
      ["a", 1n],
      ["c", 3n]
    ] as const) {
      image.keep(record(name, serial))
    }
    assert.isUndefined(image.find("pay_a"))
    assert.isUndefined(image.findSerial(1n))
    assert.isDefined(image.find("pay_b"))
    assert.isDefined(image.find("pay_c"))
    assert.isDefined(image.findSerial(2n))
  })

  it("forgets what was kept in a transaction that is taken back, and nothing else", () => {
    const image = RecordImage.make()
    image.keep(record("before", 1n))
    image.keep(record("changed", 2n))
    image.begin()
    image.keep(record("changed", 2n, TrialPayments.lane))
    image.keep(record("new", 3n))
    image.rollback()
    assert.isDefined(image.find("pay_before"))
    assert.isUndefined(image.find("pay_changed"))
    assert.isUndefined(image.find("pay_new"))
  })

  it("forgets what was kept since a savepoint, and not what was kept before it", () => {
    const image = RecordImage.make()
    image.begin()
    image.keep(record("first", 1n))
    const savepoint = image.savepoint()
    image.keep(record("second", 2n))
    image.rollbackTo(savepoint)
    image.keep(record("third", 2n))
    image.commit()
    assert.isDefined(image.find("pay_first"))
    assert.isUndefined(image.find("pay_second"))
    assert.strictEqual(image.findSerial(2n)?.paymentId, "pay_third")
  })

  it("is durable from a transaction's end to the next one's begin", () => {
    const image = RecordImage.make()
    assert.isTrue(image.isDurable())
    for (const end of [image.commit, image.rollback]) {
      image.begin()
      assert.isFalse(image.isDurable())
      image.rollbackTo(image.savepoint())
      assert.isFalse(image.isDurable())
      end()
      assert.isTrue(image.isDurable())
    }
  })

  it("keeps what was committed, and what was kept outside of a transaction", () => {
    const image = RecordImage.make()
    image.begin()
    image.keep(record("committed", 1n))
    image.commit()
    image.keep(record("read", 2n))
    image.begin()
    image.rollback()
    assert.isDefined(image.find("pay_committed"))
    assert.isDefined(image.find("pay_read"))
  })
})
