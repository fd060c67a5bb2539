/** Forms that a person sends to a sold address by POST, in a real browser at a real shop on a local chain. */
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdtemp, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Page } from "puppeteer-core"
import { afterEach, assert, describe, it } from "vitest"

import { listen } from "../OpenServer.ts"
import * as FormRoutes from "./FormRoutes.ts"
import * as OpenPage from "./OpenPage.ts"
import * as PageMarket from "./PageMarket.ts"
import { PageVisits } from "./PageVisits.ts"

const visits = new PageVisits()
const { losePayments, visit } = visits

/** Texts of a person, and a file, for the form. */
interface Filled {
  readonly name: string
  readonly note?: string
  readonly file?: string
}

/** Fills in the form that is open, and sends it. */
const send = async (page: Page, { file, name, note }: Filled): Promise<void> => {
  await page.$eval("input[name=name]", (input, text) => void (input.value = text), name)
  if (note !== undefined) await page.$eval("textarea", (area, text) => void (area.value = text), note)
  if (file !== undefined) {
    const input = await page.$("input[type=file]")
    await input?.uploadFile(file)
  }
  await Promise.all([page.waitForNavigation(), page.click("button")])
}

const fill = async (page: Page, action: string, encoding: Parameters<typeof FormRoutes.formAt>[1], filled: Filled) => {
  await page.goto(`${visits.market.origin}${FormRoutes.formAt(action, encoding)}`)
  await send(page, filled)
}

const pay = async (page: Page): Promise<string> => {
  await OpenPage.press(page, "Amber Wallet")
  return OpenPage.outcome(page)
}

/** A file in a folder of its own. */
const fileOf = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(await mkdtemp(join(tmpdir(), "pontage-form-")), name)
  await writeFile(path, content)
  return path
}

/** Puts forms into the browser's storage that were sent to this path and never signed for. */
const leaveForms = (page: Page, path: string, count: number) =>
  page.evaluate(
    (address, most) =>
      new Promise<void>((resolve, reject) => {
        const opening = indexedDB.open("pontage.forms", 1)
        opening.addEventListener("error", reject)
        opening.addEventListener("success", () => {
          const transaction = opening.result.transaction("forms", "readwrite")
          for (let index = 0; index < most; index++) {
            const line = { address: `${address}${index}`, contentType: "text/plain", body: new Uint8Array(1) }
            transaction.objectStore("forms").add(line)
          }
          transaction.addEventListener("complete", () => resolve(opening.result.close()))
        })
      }),
    `${visits.market.origin}${path}`,
    count
  )

/** Orders that come to the shop from now on. */
const newOrders = () => {
  const before = visits.market.handlers.orders.length
  return () => visits.market.handlers.orders.slice(before)
}

describe("a form by POST", () => {
  it.each(["urlencoded", "plain"] as const)("encoded as %s is kept, paid for, and sent once more", (encoding) =>
    visit(async (opened) => {
      const { faults, page } = opened
      const orders = newOrders()
      await fill(page, "/order", encoding, { name: "Jürgen & Söhne", note: PageMarket.hostile })
      await page.waitForSelector(".wallets button")
      assert.include(await OpenPage.shown(page), "Your form is kept")
      await OpenPage.demandAccessible(page)
      assert.strictEqual(await pay(page), "Paid")
      const shown = await page.$eval("pre", (element) => element.textContent)
      assert.include(shown, "Jürgen & Söhne")
      assert.include(shown, JSON.stringify(PageMarket.hostile).slice(1, -1))
      assert.isUndefined(await page.evaluate(() => Reflect.get(window, "robbed")))
      assert.deepStrictEqual([OpenPage.signatures(opened), orders().length, faults], [1, 1, []])
    })
  )

  it.each(["/order", "/print"])("with a file comes to %s byte for byte", (path) =>
    visit(async (opened) => {
      const { faults, page } = opened
      const orders = newOrders()
      const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => (index * 7) % 256)
      const file = await fileOf("<img src=x onerror=alert(1)>.bin", bytes)
      await fill(page, path, "multipart", { name: "a file", file })
      await page.waitForFunction(() => document.querySelector(".form")?.textContent.includes("196 KiB"))
      assert.include(await OpenPage.shown(page), "<img src=x onerror=alert(1)>.bin")
      assert.isNull(await page.$("img[src=x]"))
      await OpenPage.demandAccessible(page)
      assert.strictEqual(await pay(page), "Paid")
      const [{ body, type } = assert.fail("no order came"), ...others] = orders()
      const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData()
      const sent = form.get("file")
      assert.instanceOf(sent, Blob)
      assert.deepStrictEqual(new Uint8Array(await sent.arrayBuffer()), bytes)
      assert.strictEqual(form.get("name"), "a file")
      assert.deepStrictEqual([OpenPage.signatures(opened), others, faults], [1, [], []])
    })
  )

  it("is answered with a download", () =>
    visit(async ({ page }, context) => {
      const { folder, saved } = await visits.download(context)
      await fill(page, "/invoice", "urlencoded", { name: "Ada" })
      await OpenPage.press(page, "Amber Wallet")
      await saved
      assert.strictEqual(readFileSync(join(folder, "invoice.csv"), "utf8"), "name\nAda\n")
    }))

  it("whose shop leads on to another page ends as paid, with the way there", () =>
    visit(async (opened) => {
      const { page } = opened
      const orders = newOrders()
      await fill(page, "/thanks", "urlencoded", { name: "Ada" })
      assert.strictEqual(await pay(page), "Paid")
      await OpenPage.demandAccessible(page)
      await Promise.all([page.waitForNavigation(), page.click(".card a")])
      assert.strictEqual(page.url(), `${visits.market.origin}/thank-you?order=1`)
      assert.deepStrictEqual([OpenPage.signatures(opened), orders().length], [1, 1])
    }))

  it("that the shop refuses shows why, and the corrected one needs no new signature", () =>
    visit(async (opened) => {
      const { page } = opened
      await fill(page, "/strict", "urlencoded", { name: "wrong" })
      assert.strictEqual(await pay(page), "Paid, not delivered yet")
      assert.include(await OpenPage.shown(page), "The name must be: right")
      await OpenPage.demandAccessible(page)
      await Promise.all([page.waitForNavigation(), OpenPage.press(page, "Back to the form")])
      await send(page, { name: "right" })
      assert.strictEqual(await pay(page), "Paid")
      assert.include(await OpenPage.shown(page), "ordered")
      assert.strictEqual(OpenPage.signatures(opened), 1)
    }))
})

describe("a form at a slow wallet", () => {
  it("is paid for once by two clicks, and its page does not deny it", () => {
    const asked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const beforeSigning = () => {
      asked.resolve()
      return released.promise
    }
    const use = async (opened: OpenPage.OpenPage) => {
      const { page } = opened
      await fill(page, "/order", "urlencoded", { name: "twice" })
      await page.waitForSelector(".wallets button")
      await page.$eval(".wallets button", (button) => {
        button.click()
        button.click()
      })
      await asked.promise
      assert.include(await OpenPage.shown(page), "Sign in the wallet")
      released.resolve()
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.strictEqual(OpenPage.signatures(opened), 1)
    }
    return visit(use, { beforeSigning })
  })
})

describe("a form that is not repeated", () => {
  it("comes from another site, and says so", () =>
    visit(async (opened) => {
      const { page } = opened
      const orders = newOrders()
      const stranger = createServer((_, response) =>
        response
          .setHeader("content-type", "text/html")
          .end(FormRoutes.html(`${visits.market.origin}/order`, "urlencoded"))
      )
      const own = Effect.runSync(Scope.make())
      const origin = await Effect.runPromise(Scope.provide(listen(stranger), own))
      await page.goto(origin.replace("127.0.0.1", "localhost"))
      await send(page, { name: "in your name" })
      await page.waitForSelector(".card.warn")
      assert.include(await OpenPage.shown(page), "Another site has sent this form.")
      await OpenPage.demandAccessible(page)
      assert.notInclude(await page.content(), btoa("name=in+your+name").slice(0, 12))
      await page.reload()
      await page.waitForSelector(".card.warn")
      assert.include(await OpenPage.shown(page), "Another site has sent this form.")
      assert.deepStrictEqual([OpenPage.signatures(opened), orders()], [0, []])
      await Effect.runPromise(Scope.close(own, Exit.void))
    }))

  it("is longer than the limit, and says which", () =>
    visit(async (opened) => {
      const { page } = opened
      const file = await fileOf("long.bin", new Uint8Array(5 * 1024 * 1024))
      await fill(page, "/order", "multipart", { name: "long", file })
      await page.waitForSelector(".card.warn")
      assert.include(await OpenPage.shown(page), "longer than 1 MiB")
      assert.strictEqual(OpenPage.signatures(opened), 0)
    }))
})

describe("a form that was signed for", () => {
  it("is finished when its page is loaded again", () =>
    visit(async (opened) => {
      const { page } = opened
      const orders = newOrders()
      await fill(page, "/order", "multipart", { name: "again", file: await fileOf("a.txt", "content of a") })
      const { end, lost } = losePayments()
      await OpenPage.press(page, "Amber Wallet")
      await lost
      end()
      await page.reload()
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.include(await OpenPage.shown(page), "content of a")
      assert.deepStrictEqual([OpenPage.signatures(opened), orders().length], [1, 1])
    }))

  it("is kept while its shop cannot be reached", () =>
    visit(async (opened) => {
      const { page } = opened
      const orders = newOrders()
      await fill(page, "/order", "urlencoded", { name: "kept" })
      const { end, lost } = losePayments()
      await OpenPage.press(page, "Amber Wallet")
      await lost
      end()
      visits.market.handlers.isCut = true
      await page.reload()
      // The first look at the earlier payment has failed when this click is heard.
      await OpenPage.press(page, "Amber Wallet")
      assert.strictEqual(await OpenPage.outcome(page), "Sent: do not pay again")
      visits.market.handlers.isCut = false
      await page.reload()
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.deepStrictEqual([OpenPage.signatures(opened), orders().length], [1, 1])
    }))

  it("is not signed for again by a click before the page has looked", () =>
    visit(async (opened) => {
      const { page } = opened
      const orders = newOrders()
      await fill(page, "/order", "urlencoded", { name: "early" })
      const { end, lost } = losePayments()
      await OpenPage.press(page, "Amber Wallet")
      await lost
      end()
      await page.evaluateOnNewDocument(() => {
        const { promise, resolve } = Promise.withResolvers<void>()
        const databases = indexedDB.databases.bind(indexedDB)
        Object.defineProperty(indexedDB, "databases", {
          value: async () => {
            await promise
            return databases()
          }
        })
        Reflect.set(window, "look", resolve)
      })
      await page.reload()
      await OpenPage.press(page, "Amber Wallet")
      await page.evaluate("look()")
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.include(await OpenPage.shown(page), "early")
      assert.deepStrictEqual([OpenPage.signatures(opened), orders().length], [1, 1])
    }))

  it("is finished by the page of another form, which stays unpaid until its person goes on", () =>
    visit(async (opened, context) => {
      const orders = newOrders()
      await fill(opened.page, "/order", "multipart", { name: "first" })
      const { end, lost } = losePayments()
      await OpenPage.press(opened.page, "Amber Wallet")
      await lost
      await opened.page.close()
      end()
      const next = await OpenPage.make(context, visits.market.newPayers(), { families: ["evm"] })
      await fill(next.page, "/order", "multipart", { name: "second" })
      assert.strictEqual(await OpenPage.outcome(next.page), "Paid")
      const shown = await OpenPage.shown(next.page)
      assert.include(shown, `"first"`)
      assert.include(shown, "not paid yet")
      await OpenPage.demandAccessible(next.page)
      assert.deepStrictEqual([OpenPage.signatures(next), orders().length], [0, 1])
      await OpenPage.press(next.page, "Go on with the new form")
      await OpenPage.press(next.page, "Amber Wallet")
      await next.page.waitForFunction(() => document.querySelector("pre")?.textContent.includes('"second"'))
      assert.deepStrictEqual([OpenPage.signatures(opened), OpenPage.signatures(next), orders().length], [1, 1, 2])
    }))

  it("and refused gets no second signature while the first is good: the same form is paid once its payer can", () => {
    const evm = `0x${randomBytes(32).toString("hex")}`
    const use = async (opened: OpenPage.OpenPage) => {
      const { page } = opened
      const orders = newOrders()
      await fill(page, "/order", "multipart", { name: "poor" })
      assert.strictEqual(await pay(page), "You were not charged")
      assert.include(await OpenPage.shown(page), "does not hold enough")
      // Sent anew by its person, the form has another boundary.
      await fill(page, "/order", "multipart", { name: "poor" })
      assert.strictEqual(await OpenPage.outcome(page), "You were not charged")
      const { address } = exactEvm.localSigner(evm)
      await Effect.runPromise(visits.market.chains.evm.mint(address, 10_000n))
      await OpenPage.press(page, "Try again")
      await OpenPage.press(page, "Amber Wallet")
      await page.waitForSelector(".card.good")
      assert.include(await OpenPage.shown(page), `"poor"`)
      assert.deepStrictEqual([OpenPage.signatures(opened), orders().length], [1, 1])
    }
    return visit(use, {}, { evm })
  })

  it("is forgotten after its end: the same form again is paid for again", () =>
    visit(async (opened) => {
      const { page } = opened
      for (const count of [1, 2]) {
        // oxlint-disable-next-line no-await-in-loop -- one purchase after another
        await fill(page, "/order", "urlencoded", { name: "same" })
        // oxlint-disable-next-line no-await-in-loop -- one purchase after another
        assert.strictEqual(await pay(page), "Paid")
        assert.strictEqual(OpenPage.signatures(opened), count)
      }
    }))
})

describe("forms of many addresses", () => {
  afterEach(() => void (visits.market.handlers.isFailing = false))

  it("that were not signed for make room for others; one that was paid for stays", () =>
    visit(async (opened) => {
      const { page } = opened
      visits.market.handlers.isFailing = true
      await fill(page, "/flaky/paid", "urlencoded", { name: "first" })
      assert.strictEqual(await pay(page), "Paid, not delivered yet")
      await leaveForms(page, "/flaky/left", 15)
      await fill(page, "/order", "urlencoded", { name: "another" })
      assert.strictEqual(await pay(page), "Paid")
      visits.market.handlers.isFailing = false
      await fill(page, "/flaky/paid", "urlencoded", { name: "second" })
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.include(await OpenPage.shown(page), `"first"`)
      assert.strictEqual(OpenPage.signatures(opened), 2)
    }))

  it("that were paid for and not delivered are never forgotten, and no further one is signed for", () =>
    visit(async (opened) => {
      const { page } = opened
      visits.market.handlers.isFailing = true
      for (let index = 0; index < 16; index++) {
        // oxlint-disable-next-line no-await-in-loop -- one purchase after another
        await fill(page, `/flaky/${index}`, "urlencoded", { name: `form ${index}` })
        // oxlint-disable-next-line no-await-in-loop -- one purchase after another
        assert.strictEqual(await pay(page), "Paid, not delivered yet")
      }
      await fill(page, "/order", "urlencoded", { name: "too many" })
      assert.strictEqual(await pay(page), "You were not charged")
      const shown = await OpenPage.shown(page)
      assert.include(shown, "as many unfinished forms as it can")
      assert.include(shown, `${visits.market.origin}/flaky/0`)
      await OpenPage.demandAccessible(page)
      assert.strictEqual(OpenPage.signatures(opened), 16)
      visits.market.handlers.isFailing = false
      await fill(page, "/flaky/0", "urlencoded", { name: "another" })
      assert.strictEqual(await OpenPage.outcome(page), "Paid")
      assert.include(await OpenPage.shown(page), "form 0")
      assert.strictEqual(OpenPage.signatures(opened), 16)
      await fill(page, "/order", "urlencoded", { name: "room again" })
      assert.strictEqual(await pay(page), "Paid")
      assert.strictEqual(OpenPage.signatures(opened), 17)
    }))
})
