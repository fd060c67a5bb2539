/** A tab with wallets at the market's shop, and the few things that a person does there. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

import type { BrowserContext, Page } from "puppeteer-core"
import { assert } from "vitest"

import * as PageWallets from "./PageWallets.ts"

/** Milliseconds until a state must have come; a machine that is a hundred times slower stays below it. */
const patience = Number(process.env["PATIENCE"] ?? 600_000)

/** A tab. */
export interface OpenPage {
  readonly page: Page
  /** The owners of its wallets. */
  readonly payers: PageWallets.Payers
  readonly manner: PageWallets.Manner
  /** Addresses of all requests, and all violations of the policy and errors of scripts. */
  readonly requests: ReadonlyArray<string>
  readonly faults: ReadonlyArray<string>
}

/** Opens a tab with these payers' wallets; nothing is loaded yet. */
export const make = async (
  context: BrowserContext,
  payers: PageWallets.Payers,
  change: Partial<PageWallets.Manner> = {}
): Promise<OpenPage> => {
  const page = await context.newPage()
  page.setDefaultTimeout(patience)
  page.setDefaultNavigationTimeout(patience)
  const manner = PageWallets.manner(change)
  const requests: Array<string> = []
  const faults: Array<string> = []
  page.on("request", (request) => requests.push(request.url()))
  page.on("pageerror", (error) => faults.push(String(error)))
  page.on("console", (message) => {
    if (/Content Security Policy/i.test(message.text())) faults.push(message.text())
  })
  await PageWallets.inject(page, payers, manner)
  return { page, payers, manner, requests, faults }
}

/** The number of signatures that the wallets were asked for. */
export const signatures = ({ manner }: OpenPage): number => manner.asked.length

/** The text that the page shows in place of the offer's form. */
export const shown = (page: Page): Promise<string> => page.$eval("#checkout", (element) => element.textContent)

/** Presses the button that contains a text. */
export const press = async (page: Page, text: string): Promise<void> => {
  const found = await page.waitForSelector(`::-p-xpath(//button[contains(., "${text}")])`)
  await found?.click()
}

/** Chooses a network by its name. */
export const choose = async (page: Page, network: string): Promise<void> => {
  const found = await page.waitForSelector(`::-p-xpath(//label[contains(., "${network}")]//input)`)
  await found?.click()
}

/** Waits for an outcome: the heading of its card. */
export const outcome = async (page: Page): Promise<string> => {
  const found = await page.waitForSelector(".card h2")
  return (await found?.evaluate((element) => element.textContent)) ?? ""
}

const require = createRequire(import.meta.url)

const qrDecoder = require.resolve("jsqr")

/** The text of the QR code that a camera sees on the page, by a decoder of others; `undefined` where it sees none. */
export const scanned = async (page: Page): Promise<unknown> => {
  const png = await page.screenshot({ encoding: "base64", fullPage: true })
  // By the debugger's way, as below.
  await page.evaluate(readFileSync(qrDecoder, "utf8"))
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }))
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d")
    context?.drawImage(image, 0, 0)
    const { data, height, width } = context?.getImageData(0, 0, image.width, image.height) ?? {}
    return Reflect.get(window, "jsQR")(data, width, height)?.data
  }, png)
}

const axe = require.resolve("axe-core/axe.min.js")

/** Lets axe-core look at the page as it is: WCAG 2.2 A and AA, and its best practices. */
export const demandAccessible = async (page: Page): Promise<void> => {
  // By the debugger's way, which the policy of the page does not concern.
  await page.evaluate(readFileSync(axe, "utf8"))
  const found: unknown = await page.evaluate(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))"
  )
  assert.deepStrictEqual(found, [])
}
