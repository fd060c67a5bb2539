import { HostLaws, TestScheme } from "@pontage/core/testing"
import { wrapFetch } from "@pontage/fetch"
import { afterAll, assert, describe, it } from "vitest"

import { paymentRoutes } from "../src/index.ts"

const payment = paymentRoutes(HostLaws.shopForTrial())
afterAll(() => payment.close())

/** The errors by which Next's functions answer. */
const throwing = (digest: string) => (): Response => {
  throw Object.assign(new Error("thrown by Next"), { digest })
}

const buy = async (settle: "before-handler" | "after-handler", digest: string) => {
  const path = `/${settle}-${digest.length}`
  const GET = payment.paid(`GET ${path}`, { ...HostLaws.terms, settle }, throwing(digest))
  await payment.ready()
  const context = { params: Promise.resolve({}) }
  const paying = wrapFetch((input, init) => GET(new Request(input, init), context), {
    schemes: [TestScheme.client("acct-buyer")],
    limits: { perRequest: "$0.05" }
  })
  // A followed redirect would show the response behind it.
  return paying(`https://shop.example${path}`, { redirect: "manual" })
}

const redirect = "NEXT_REDIRECT;replace;/goods;v=1;307;"

describe("a response that a handler throws", () => {
  it.each(["before-handler", "after-handler"] as const)("by redirect() is sold as such (%s)", async (settle) => {
    const response = await buy(settle, redirect)
    assert.strictEqual(response.status, 307)
    assert.strictEqual(response.headers.get("location"), "/goods;v=1")
    assert.isTrue(response.headers.has("x-payment-response") || response.headers.has("payment-response"))
  })

  it("by notFound() is charged to no one after the handler", async () => {
    const response = await buy("after-handler", "NEXT_HTTP_ERROR_FALLBACK;404")
    assert.strictEqual(response.status, 404)
    assert.isFalse(response.headers.has("x-payment-response") || response.headers.has("payment-response"))
  })
})
