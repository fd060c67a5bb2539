import { assert, describe, it } from "@effect/vitest"
import { PaymentJournal } from "@pontage/core"

import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

/** A promise and what fulfils it. */
const event = () => {
  const target = new EventTarget()
  const happened = new Promise((resolve) => target.addEventListener("event", resolve))
  return { fire: () => void target.dispatchEvent(new Event("event")), happened }
}

const reason = new Error("the caller has changed its mind")
const forever = () => new Promise<never>(() => undefined)

describe("a call that is aborted", () => {
  it("before it begins sends nothing", async () => {
    await using shop = await PaidShop.open()
    const { fetch, signed } = TestPayer.make()
    assert.strictEqual(await TestPayer.rejection(fetch(shop.origin, { signal: AbortSignal.abort(reason) })), reason)
    assert.strictEqual(shop.arrivals.length, 0)
    assert.strictEqual(signed.length, 0)
  })

  it("during the unpaid request signs nothing", async () => {
    const arrived = event()
    await using shop = await PaidShop.open(() => arrived.fire())
    const { fetch, signed } = TestPayer.make()
    const controller = new AbortController()
    const call = TestPayer.rejection(fetch(shop.origin, { signal: controller.signal }))
    await arrived.happened
    controller.abort(reason)
    assert.strictEqual(await call, reason)
    assert.strictEqual(signed.length, 0)
  })

  it("while the offer is read signs nothing", async () => {
    const arrived = event()
    await using shop = await PaidShop.open((response) => {
      response.writeHead(402, { "x-payment": "{}" }).write('{"error":', () => arrived.fire())
    })
    const { fetch, signed } = TestPayer.make()
    const controller = new AbortController()
    const call = TestPayer.rejection(fetch(shop.origin, { signal: controller.signal }))
    await arrived.happened
    controller.abort(reason)
    assert.strictEqual(await call, reason)
    assert.strictEqual(signed.length, 0)
  })

  it.each(["confirm", "before"] as const)("during %s sends and reserves nothing", async (phase) => {
    await using shop = await PaidShop.open()
    const asked = event()
    let isWaiting = true
    const wait = async () => {
      asked.fire()
      return isWaiting ? forever() : undefined
    }
    const waiting = phase === "before" ? { before: wait } : { confirm: async () => (await wait()) === undefined }
    const { fetch } = TestPayer.make({ limits: { perDay: "$0.01" }, ...waiting })
    const controller = new AbortController()
    const call = TestPayer.rejection(fetch(shop.origin, { signal: controller.signal }))
    await asked.happened
    controller.abort(reason)
    assert.strictEqual(await call, reason)
    assert.strictEqual(shop.paid().length, 0)
    isWaiting = false
    assert.strictEqual((await fetch(shop.origin)).status, 200, "the budget for one is still there")
  })

  it("during the paid request is remembered: the next call sends the same payment", async () => {
    const arrived = event()
    let isSilent = true
    await using shop = await PaidShop.open(
      PaidShop.paidWith((response, arrival) => (isSilent ? arrived.fire() : PaidShop.serve(response, arrival)))
    )
    const { fetch, signed } = TestPayer.make({ limits: { perDay: "$0.01" } })
    const controller = new AbortController()
    const request = new Request(shop.origin, { signal: controller.signal })
    const call = TestPayer.rejection(fetch(request))
    await arrived.happened
    controller.abort(reason)
    assert.strictEqual(await call, reason)
    isSilent = false
    assert.strictEqual((await fetch(shop.origin)).status, 200)
    assert.strictEqual(signed.length, 1)
    const [one, two] = shop.paid()
    assert.strictEqual(one?.payment, two?.payment)
  })

  it.each(["onPayment runs", "the journal is written"])(
    "while %s, after the response has come, gets that response: it is paid for",
    async (phase) => {
      await using shop = await PaidShop.open()
      const controller = new AbortController()
      const told: Array<unknown> = []
      const memory = PaymentJournal.make(PaymentJournal.memoryLog())
      const journal: typeof memory = {
        ...memory,
        write: (entry) => {
          if (entry.state === "settled" && phase === "the journal is written") controller.abort(reason)
          return memory.write(entry)
        }
      }
      const onPayment = (receipt: unknown) => {
        told.push(receipt)
        if (phase !== "onPayment runs") return undefined
        controller.abort(reason)
        return forever()
      }
      const { fetch, signed } = TestPayer.make({ journal, onPayment })
      const response = await fetch(shop.origin, { signal: controller.signal })
      assert.include(await response.json(), { method: "GET" })
      assert.strictEqual(told.length, 1)
      assert.strictEqual(signed.length, 1)
    }
  )

  it("while the response is read breaks the response off, as with fetch itself", async () => {
    await using shop = await PaidShop.open(
      PaidShop.paidWith((response) => {
        response.writeHead(200)
        response.write("the first half")
      })
    )
    const controller = new AbortController()
    const response = await TestPayer.make().fetch(shop.origin, { signal: controller.signal })
    const text = TestPayer.rejection(response.text())
    controller.abort(reason)
    assert.strictEqual(await text, reason)
  })

  it("by no signal at all, where the call takes a Request's signal away, goes on", async () => {
    await using shop = await PaidShop.open()
    const request = new Request(shop.origin, { signal: AbortSignal.abort(reason) })
    assert.strictEqual((await TestPayer.make().fetch(request, { signal: null })).status, 200)
  })

  it("while a stream is read into memory sends nothing", async () => {
    await using shop = await PaidShop.open()
    const controller = new AbortController()
    const body = new ReadableStream({ pull: forever })
    const init = { method: "POST", body, duplex: "half", signal: controller.signal } as RequestInit
    const call = TestPayer.rejection(TestPayer.make().fetch(shop.origin, init))
    controller.abort(reason)
    assert.strictEqual(await call, reason)
    assert.strictEqual(shop.arrivals.length, 0)
  })
})
