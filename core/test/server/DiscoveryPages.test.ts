import { assert, describe, it } from "@effect/vitest"

import { SoldRoutes } from "../../src/index.ts"
import type { RouteMap } from "../../src/server/route/RouteConfig.ts"
import * as HostLaws from "../../src/testing/host/HostLaws.ts"
import { mppSeller } from "../../src/wire/mpp/MppSeller.ts"
import { protocolSeller } from "../../src/wire/pontage/ProtocolSeller.ts"
import { x402v2Seller } from "../../src/wire/x402/X402v2Seller.ts"
import * as FakeScheme from "./FakeScheme.ts"

const { terms } = HostLaws

const documentsOf = async (routes: RouteMap, discovery: object = { title: "Shop", llms: true }) => {
  const shop = { ...HostLaws.shopForTrial(), routes, discovery } as SoldRoutes.SoldRoutesOptions
  const sold = SoldRoutes.open({ ...shop, schemes: [...shop.schemes, FakeScheme.evm("eip155:8453")] })
  await sold.close()
  const bodyOf = (path: string) => sold.pages.find("GET", path)?.body ?? ""
  return { openApi: JSON.parse(bodyOf("/openapi.json")), llms: bodyOf("/llms.txt") }
}

const messageOf = async (routes: RouteMap, discovery?: object): Promise<string> => {
  try {
    await documentsOf(routes, discovery)
    return "accepted"
  } catch (error) {
    return String(error)
  }
}

const evm = { network: "eip155:8453", payTo: FakeScheme.alice, price: "$1.50" }

describe("the discovery documents", () => {
  it("name a protocol only where the route speaks it, and an offer only where the protocol has one", async () => {
    const dialects = [protocolSeller, x402v2Seller, mppSeller()]
    const { openApi } = await documentsOf({ "GET /a": { ...evm, dialects }, "GET /b": evm })
    const info = (path: string) => openApi.paths[path].get["x-payment-info"]
    const currency = FakeScheme.usdc
    assert.deepStrictEqual(info("/b"), {
      price: { mode: "fixed", currency: "USD", amount: "1.5" },
      protocols: [{ x402: {} }]
    })
    assert.deepStrictEqual(info("/a"), {
      price: { mode: "fixed", currency: "USD", amount: "1.5" },
      protocols: [{ x402: {} }, { mpp: { method: "evm", intent: "charge", currency } }],
      offers: [{ method: "evm", intent: "charge", amount: "1500000", currency }]
    })
  })

  it("hold neither free nor unlisted routes, nor a secret of the shop", async () => {
    const { llms, openApi } = await documentsOf({
      "GET /free": { ...terms, price: "$0" },
      "GET /hidden": { ...terms, listed: false },
      "GET /files/*": terms
    })
    assert.deepStrictEqual(Object.keys(openApi.paths), ["/files/{rest}"])
    for (const text of [llms, JSON.stringify(openApi)]) {
      assert.notMatch(text, /hidden|\/free|secret of a shop/)
    }
  })

  it("keep a description on its line of the text", async () => {
    const { llms } = await documentsOf({ "GET /a": { ...terms, description: "one\n## two\n- three" } })
    assert.include(llms, ": one ## two - three (")
  })

  it("are refused where a route is sold at their path, and with options that are not theirs", async () => {
    assert.include(
      await messageOf({ "GET /openapi.json": terms }),
      "is a sold route and the path of a discovery document"
    )
    assert.strictEqual(await messageOf({ "GET /llms.txt": terms }, { title: "Shop" }), "accepted")
    assert.include(
      await messageOf({ "GET /a": terms }, { titel: "Shop" }),
      "discovery.titel: unknown key; did you mean"
    )
    assert.include(
      await messageOf({ "GET /a": terms }, { title: "Shop", contact: { email: "x" } }),
      "discovery.contact.email"
    )
    assert.include(
      await messageOf({ "GET /a": terms }, { title: "Shop", docs: { homepage: "x y" } }),
      "discovery.docs.homepage"
    )
    assert.include(
      await messageOf({ "GET /a": terms }, { title: "Shop", categories: ["1", "2", "3", "4", "5", "6"] }),
      "discovery.categories"
    )
  })
})
