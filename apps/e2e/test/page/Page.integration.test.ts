/**
 * The page on which a person pays, in a real browser: at a real shop, on the local chains of all three families, with wallets in the
 * page whose keys are real.
 */
import { readFileSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"

import * as Effect from "effect/Effect"
import type { Page } from "puppeteer-core"
import { assert, describe, it } from "vitest"

import * as OpenPage from "./OpenPage.ts"
import * as PageMarket from "./PageMarket.ts"
import { PageVisits } from "./PageVisits.ts"

const visits = new PageVisits()
const { losePayments, visit } = visits

/** Status and content type for a request with exactly these headers, which `fetch` would not send. */
const typeFor = (headers: Readonly<Record<string, string>>): Promise<string> =>
  new Promise((resolve, reject) => {
    get(`${visits.market.origin}/report`, { headers }, (response) => {
      response.resume()
      resolve(`${response.statusCode} ${response.headers["content-type"]?.split(";")[0]}`)
    }).on("error", reject)
  })

describe("the page", () => {
  it.each([
    ["evm", "Local EVM chain", "Amber Wallet"],
    ["ton", "Local TON chain", "Blue Wallet"],
    ["tron", "Local TRON chain", "TronLink"]
  ])(
    "sells to a wallet of %s in three clicks, accessible in each state, without a request to others",
    (_, network, wallet) =>
      visit(
        async (opened) => {
          const { faults, page, requests } = opened
          await page.goto(`${visits.market.origin}/report`)
          await OpenPage.choose(page, network)
          await OpenPage.demandAccessible(page)
          await OpenPage.press(page, wallet)
          assert.strictEqual(await OpenPage.outcome(page), "Paid")
          assert.include(await OpenPage.shown(page), "It will rain, and then it will not.")
          await OpenPage.demandAccessible(page)
          assert.strictEqual(OpenPage.signatures(opened), 1)
          assert.deepStrictEqual(faults, [])
          const elsewhere = requests.filter(
            (url) => !url.startsWith(visits.market.origin) && !/^(?:data|blob):/.test(url)
          )
          assert.deepStrictEqual(elsewhere, [])
          const focused = await page.evaluate(() => document.activeElement?.tagName)
          assert.strictEqual(focused, "H2")
        },
        { families: ["evm", "ton", "tron"] }
      )
  )

  it("is for people who navigate: programs, fetch and search engines get JSON", async () => {
    const types = await Promise.all(
      [
        { accept: "*/*" },
        { accept: "text/html" },
        { accept: "text/html", "sec-fetch-mode": "cors" },
        { accept: "text/html;q=0, */*", "sec-fetch-mode": "navigate" },
        { accept: "text/html", "sec-fetch-mode": "navigate", "user-agent": "Mozilla/5.0 (compatible; Somebot/2.1)" },
        { accept: "text/html", "sec-fetch-mode": "navigate", "x-payment": "e30=" },
        { accept: "text/html", "sec-fetch-mode": "navigate", "user-agent": "Mozilla/5.0" }
      ].map(typeFor)
    )
    const json = "402 application/json"
    assert.deepStrictEqual(types, [json, json, json, json, json, json, "402 text/html"])
  })

  it("sells a form's request and a download", () =>
    visit(async ({ page }, context) => {
      await page.goto(`${visits.market.origin}/form`)
      await page.type("input", "rain & sun")
      await Promise.all([page.waitForNavigation(), page.click("button")])
      await OpenPage.press(page, "Amber Wallet")
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.include(await OpenPage.shown(page), "found: rain & sun")

      const { folder, saved } = await visits.download(context)
      await page.goto(`${visits.market.origin}/list.csv`)
      await OpenPage.press(page, "Amber Wallet")
      await saved
      assert.strictEqual(readFileSync(join(folder, "rain.csv"), "utf8"), "day,rain\n1,12\n")
    }))

  it("leaves pages of the shop's own free: the sample of @pontage/wallets pays by the wallet that it finds", () =>
    visit(async (opened) => {
      const { faults, page } = opened
      await page.goto(`${visits.market.origin}/own`)
      await OpenPage.press(page, "Pay with Amber Wallet")
      await page.waitForFunction(() => document.body.textContent.includes("It will rain, and then it will not."))
      assert.strictEqual(OpenPage.signatures(opened), 1)
      assert.deepStrictEqual(faults, [])
    }))

  it("shows HTML that was bought without letting it near the page", () =>
    visit(async ({ page }) => {
      await page.goto(`${visits.market.origin}/letter`)
      await OpenPage.press(page, "Amber Wallet")
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      const frame = await (await page.waitForSelector("iframe"))?.contentFrame()
      assert.include(await frame?.$eval("body", (body) => body.textContent), "Sunshine.")
      assert.isUndefined(await page.evaluate(() => Reflect.get(window, "robbed")))
    }))
})

describe("a payer who was not charged", () => {
  it("is told so after declining in the wallet, and can try again", () =>
    visit(
      async (opened) => {
        const { manner, page } = opened
        await page.goto(`${visits.market.origin}/report`)
        await OpenPage.press(page, "Amber Wallet")
        assert.strictEqual(await OpenPage.outcome(page), "You were not charged")
        assert.include(await OpenPage.shown(page), "You declined in the wallet.")
        await OpenPage.demandAccessible(page)
        manner.rejects = false
        await OpenPage.press(page, "Try again")
        await OpenPage.press(page, "Amber Wallet")
        assert.strictEqual(await OpenPage.outcome(page), "Paid")
      },
      { families: ["evm"], rejects: true }
    ))

  it.each([
    ["evm", "Amber Wallet", "The signature is not that of the account."],
    ["ton", "Blue Wallet", "The wallet returned no valid signature."],
    ["tron", "TronLink", "The signature is not that of the account."]
  ] as const)("is told so when the wallet of %s returns garbage", (family, wallet, why) =>
    visit(
      async ({ page }) => {
        await page.goto(`${visits.market.origin}/report`)
        await OpenPage.press(page, wallet)
        assert.strictEqual(await OpenPage.outcome(page), "You were not charged")
        assert.include(await OpenPage.shown(page), why)
      },
      { families: [family], garbage: true }
    )
  )

  it("is told so when the wallet leaves the account while it signs", () =>
    visit(async (opened) => {
      const { page } = opened
      await page.evaluateOnNewDocument(() => {
        let count = 0
        window.addEventListener("eip6963:announceProvider", (event) => {
          const { provider } = Reflect.get(event, "detail")
          const { request } = provider
          provider.request = async (call: { readonly method: string }) =>
            call.method === "eth_accounts" && ++count > 0 ? [`0x${"77".repeat(20)}`] : request(call)
        })
      })
      await page.goto(`${visits.market.origin}/report`)
      await OpenPage.press(page, "Amber Wallet")
      assert.strictEqual(await OpenPage.outcome(page), "You were not charged")
      assert.include(await OpenPage.shown(page), "account or network changed")
      assert.strictEqual(OpenPage.signatures(opened), 0)
    }))

  it("whose wallet is on another network has it changed, or is told to change it", () =>
    visit(
      async ({ manner, page }) => {
        await page.goto(`${visits.market.origin}/report`)
        await OpenPage.press(page, "Amber Wallet")
        assert.strictEqual(await OpenPage.outcome(page), "You were not charged")
        assert.include(await OpenPage.shown(page), "Change it to Local EVM chain")
        manner.refusesChains = false
        await OpenPage.press(page, "Try again")
        await OpenPage.press(page, "Amber Wallet")
        assert.strictEqual(await OpenPage.outcome(page), "Paid")
        assert.strictEqual(manner.chainId, 31337)
      },
      { families: ["evm"], chainId: 1, refusesChains: true }
    ))

  it("whose TON wallet lacks signMessage is told so before anything is asked", () =>
    visit(
      async ({ page }) => {
        await page.goto(`${visits.market.origin}/report`)
        const found = await page.waitForSelector(".wallets button[disabled]")
        assert.include(await found?.evaluate((element) => element.textContent), "signMessage")
      },
      { families: ["ton"], hasSignMessage: false }
    ))
})

describe("a payment that was signed", () => {
  it("is finished in the next visit when the tab is closed, without a wallet", () =>
    visit(async (opened, context) => {
      await opened.page.goto(`${visits.market.origin}/report`)
      const { end, lost } = losePayments()
      await OpenPage.press(opened.page, "Amber Wallet")
      await lost
      await opened.page.close()
      end()
      const next = await OpenPage.make(context, visits.market.newPayers(), { families: [] })
      await next.page.goto(`${visits.market.origin}/report`)
      assert.strictEqual(await OpenPage.outcome(next.page), "Paid")
      assert.deepStrictEqual([OpenPage.signatures(opened), OpenPage.signatures(next)], [1, 0])
    }))

  it("is finished when the page is loaded again in the middle of it", () =>
    visit(async (opened) => {
      const { page } = opened
      await page.goto(`${visits.market.origin}/report`)
      const { end, lost } = losePayments()
      await OpenPage.press(page, "Amber Wallet")
      await lost
      end()
      await page.reload()
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.strictEqual(OpenPage.signatures(opened), 1)
    }))

  it("waits while the facilitator is down, and the page says not to pay again", () =>
    visit(async (opened) => {
      const { page } = opened
      await page.goto(`${visits.market.origin}/report`)
      await Effect.runPromise(visits.market.takeDown)
      try {
        await OpenPage.press(page, "Amber Wallet")
        await page.waitForSelector("::-p-xpath(//p[contains(., 'do not pay again')])")
        await OpenPage.demandAccessible(page)
      } finally {
        await Effect.runPromise(visits.market.putUp)
      }
      assert.strictEqual(OpenPage.signatures(opened), 1)
    }))

  it("whose outcome stays unknown says so, and ends uncharged once it has expired", () =>
    visit(async (opened) => {
      const { page } = opened
      await page.goto(`${visits.market.origin}/brief`)
      await Effect.runPromise(visits.market.takeDown)
      try {
        await OpenPage.press(page, "Amber Wallet")
        assert.strictEqual(await OpenPage.outcome(page), "Sent: do not pay again")
        await OpenPage.demandAccessible(page)
      } finally {
        await Effect.runPromise(visits.market.putUp)
      }
      await OpenPage.press(page, "Check again")
      await page.waitForSelector(".card.bad")
      assert.include(await OpenPage.shown(page), "expired")
      assert.strictEqual(OpenPage.signatures(opened), 1)
    }))

  it("is good for another attempt when the shop fails after it", () =>
    visit(async (opened) => {
      const { page } = opened
      visits.market.handlers.failuresLeft = 1
      await page.goto(`${visits.market.origin}/report`)
      await OpenPage.press(page, "Amber Wallet")
      assert.strictEqual(await OpenPage.outcome(page), "Paid, not delivered yet")
      await OpenPage.press(page, "Try again")
      await page.waitForSelector(".card.good")
      assert.strictEqual(OpenPage.signatures(opened), 1)
    }))

  it("is not made twice by two tabs", () =>
    visit(
      async (first, context) => {
        const asked = Promise.withResolvers<void>()
        const agreed = Promise.withResolvers<void>()
        first.manner.beforeSigning = () => {
          asked.resolve()
          return agreed.promise
        }
        await first.page.goto(`${visits.market.origin}/report`)
        await OpenPage.press(first.page, "Amber Wallet")
        await asked.promise
        const second = await OpenPage.make(context, visits.market.newPayers(), { families: ["evm"] })
        await second.page.goto(`${visits.market.origin}/report`)
        await OpenPage.press(second.page, "Amber Wallet")
        assert.strictEqual(await OpenPage.outcome(second.page), "You were not charged")
        assert.include(await OpenPage.shown(second.page), "Another tab is paying")
        agreed.resolve()
        assert.strictEqual(await OpenPage.outcome(first.page), "Paid")
        assert.strictEqual(OpenPage.signatures(second), 0)
      },
      { families: ["evm"] }
    ))
})

/** As in a private window of some browsers. */
const storeNothing = (page: Page) =>
  page.evaluateOnNewDocument(() => {
    Object.defineProperty(window, "indexedDB", {
      value: {
        open: () => {
          throw new DOMException("no storage here", "SecurityError")
        },
        databases: async () => []
      }
    })
  })

describe("a hostile place", () => {
  it("a shop's description with markup stays text", () =>
    visit(async ({ faults, page }) => {
      await page.goto(`${visits.market.origin}/hostile`)
      await page.waitForSelector(".wallets button")
      assert.strictEqual(await page.$eval(".what", (element) => element.textContent), PageMarket.hostile)
      assert.isNull(await page.$("img[src=x]"))
      assert.isUndefined(await page.evaluate(() => Reflect.get(window, "robbed")))
      assert.deepStrictEqual(faults, [])
    }))

  it("a page that frames the address sees nothing of it", () =>
    visit(async ({ page }) => {
      await page.goto(`${visits.market.origin}/form`)
      await page.evaluate(
        (address) =>
          new Promise((resolve) => {
            const frame = document.createElement("iframe")
            frame.addEventListener("load", resolve)
            frame.src = address
            document.body.append(frame)
          }),
        `${visits.market.origin}/report`
      )
      const frames = page.frames().map((frame) => frame.url())
      assert.deepStrictEqual(frames, [`${visits.market.origin}/form`, "chrome-error://chromewebdata/"])
    }))

  it("a browser that stores nothing pays all the same, and says to keep the tab", () =>
    visit(async ({ page }) => {
      await storeNothing(page)
      await page.goto(`${visits.market.origin}/report`)
      await OpenPage.press(page, "Amber Wallet")
      assert.include(await page.$eval("#checkout", (element) => element.textContent), "keep this tab open")
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
    }))

  it("a browser that stores nothing sends the same payment again when the shop failed", () =>
    visit(async (opened) => {
      const { page } = opened
      await storeNothing(page)
      visits.market.handlers.failuresLeft = 1
      await page.goto(`${visits.market.origin}/report`)
      await OpenPage.press(page, "Amber Wallet")
      assert.strictEqual(await OpenPage.outcome(page), "Paid, not delivered yet")
      await OpenPage.press(page, "Try again")
      await page.waitForSelector(".card.good")
      assert.strictEqual(OpenPage.signatures(opened), 1)
    }))
})
