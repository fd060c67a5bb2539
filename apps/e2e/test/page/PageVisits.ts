/** The set-up that the tests of the page share: one market and one browser for a file, and visits with a storage of their own. */
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Browser, BrowserContext } from "puppeteer-core"
import { afterAll, beforeAll } from "vitest"

import * as OpenPage from "./OpenPage.ts"
import * as PageBrowser from "./PageBrowser.ts"
import * as PageMarket from "./PageMarket.ts"
import type { Manner, Payers } from "./PageWallets.ts"

type Market = Effect.Success<typeof PageMarket.make>

/** Market, browser and visits of one test file. */
export class PageVisits {
  #opened: readonly [Market, Browser] | undefined

  /** Opens both before the file's tests, and closes them afterwards. */
  constructor() {
    const scope = Effect.runSync(Scope.make())
    const both = Effect.all([PageMarket.make, PageBrowser.make], { concurrency: 2 })
    beforeAll(async () => {
      this.#opened = await Effect.runPromise(Scope.provide(both, scope))
    })
    afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  }

  get market(): Market {
    return this.#both[0]
  }

  get #both(): readonly [Market, Browser] {
    if (this.#opened === undefined) throw new Error("the market opens before the tests, not while they are read")
    return this.#opened
  }

  /** A visit with new payers, or these. Its wallets are those of EVM unless `change` says otherwise. */
  visit = async (
    use: (opened: OpenPage.OpenPage, context: BrowserContext) => Promise<void>,
    change: Partial<Manner> = {},
    own: Partial<Payers> = {}
  ): Promise<void> => {
    const context = await this.#both[1].createBrowserContext()
    try {
      const payers = { ...this.market.newPayers(), ...own }
      await use(await OpenPage.make(context, payers, { families: ["evm"], ...change }), context)
    } finally {
      await context.close()
    }
  }

  /** Lets the next requests with a payment get lost on their way to the shop; `lost` resolves when one was. */
  losePayments = () => {
    const { handlers } = this.market
    const { promise: lost, resolve } = Promise.withResolvers<void>()
    handlers.lose = resolve
    return { lost, end: () => (handlers.lose = undefined) }
  }

  /** Saves the next download of a visit: its folder, and a promise of its end. */
  download = async (context: BrowserContext) => {
    const folder = await mkdtemp(join(tmpdir(), "pontage-download-"))
    const session = await this.#both[1].target().createCDPSession()
    await session.send("Browser.setDownloadBehavior", {
      behavior: "allow",
      downloadPath: folder,
      eventsEnabled: true,
      browserContextId: context.id ?? ""
    })
    const saved = new Promise<void>((resolve) => {
      session.on("Browser.downloadProgress", ({ state }) => {
        if (state === "completed") resolve()
      })
    })
    return { folder, saved }
  }
}
