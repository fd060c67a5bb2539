/** A TON wallet on another device: a person connects it by its link, signs there, and is still connected in the next visit. */
import { assert, it } from "vitest"

import * as RemoteTestWallet from "../../../../adapters/wallets/test/RemoteTestWallet.ts"
import * as OpenPage from "./OpenPage.ts"
import { PageVisits } from "./PageVisits.ts"
import * as PageWallets from "./PageWallets.ts"

const visits = new PageVisits()

/** The wallet's next request, answered by its owner's key. */
const answer = async (
  owner: ReturnType<typeof RemoteTestWallet.make>,
  app: string,
  count: number,
  payers: PageWallets.Payers
) => {
  await visits.market.bridge.until(() => owner.requests().length >= count)
  const { id, method, params } = owner.requests()[count - 1] ?? assert.fail("no request came")
  const signing = PageWallets.tonWallet(payers.ton, PageWallets.manner(), payers.tonSeqno)
  await owner.send(app, { id, ...Object(await signing({ method, params })) })
}

it("a TON wallet on another device connects by its link, pays, and stays connected", () =>
  visits.visit(
    async ({ faults, page, payers, requests }) => {
      await page.goto(`${visits.market.origin}/report`)
      await OpenPage.choose(page, "Local TON chain")
      await OpenPage.press(page, "Far Wallet")
      const found = await page.waitForSelector(".more a")
      const link = (await found?.evaluate((element) => element.href)) ?? ""
      await page.waitForSelector(".code")
      await OpenPage.demandAccessible(page)
      for (const value of ["light", "dark"]) {
        // oxlint-disable-next-line no-await-in-loop -- one picture after another
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }])
        // oxlint-disable-next-line no-await-in-loop -- one picture after another
        assert.strictEqual(await OpenPage.scanned(page), link, value)
      }
      const { address, app, request } = RemoteTestWallet.readLink(link)
      assert.strictEqual(address, "https://far.invalid/ton-connect")
      const manifest = new URL(String(Reflect.get(Object(request), "manifestUrl")))
      assert.strictEqual(manifest.origin, visits.market.origin)
      assert.strictEqual((await fetch(manifest)).status, 200)
      const owner = RemoteTestWallet.make(visits.market.bridge)
      const event = RemoteTestWallet.connectEvent()
      const items = [{ name: "ton_addr", address: payers.ton.raw, network: "-217", publicKey: "", walletStateInit: "" }]
      await owner.send(app, { ...event, payload: { ...event.payload, items } })
      await answer(owner, app, 1, payers)
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.include(await OpenPage.shown(page), "It will rain")

      await page.reload()
      await OpenPage.choose(page, "Local TON chain")
      await OpenPage.press(page, "Far Wallet")
      await answer(owner, app, 2, payers)
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.isNull(await page.$(".more a"))
      assert.deepStrictEqual(faults, [])
      assert.deepStrictEqual(
        requests.filter((url) => !url.startsWith(visits.market.origin) && !/^(?:data|blob):/.test(url)),
        []
      )
    },
    { families: [] }
  ))
