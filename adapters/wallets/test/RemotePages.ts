/** Pages that connect a TON wallet over a bridge, and what their tests ask of them. */
import { assert } from "vitest"

import { WalletError } from "../src/index.ts"
import { remoteTonWallet, type RemoteTonWallet, type RemoteTonWalletOptions } from "../src/remote.ts"
import * as RemoteTestWallet from "./RemoteTestWallet.ts"
import type { TestBridge } from "./TestBridge.ts"

export const manifestUrl = "https://shop.example/tonconnect-manifest.json"
export const order = { valid_until: 1, messages: [] }

const opened: Array<RemoteTonWallet> = []

/** Closes the pages of a test. */
export const closeAll = (): void => {
  for (const wallet of opened.splice(0)) wallet.close()
}

/** A page's side, and the link once it is shown. */
export const page = (bridge: TestBridge, change: Partial<RemoteTonWalletOptions> = {}) => {
  const { promise: link, resolve: onLink } = Promise.withResolvers<string>()
  const wallet = remoteTonWallet({
    id: "test",
    name: "Test",
    bridge: bridge.url,
    universalLink: "https://wallet.example/ton-connect",
    onLink,
    ...change
  })
  opened.push(wallet)
  return { wallet, link }
}

/** A connected pair. */
export const connected = async (bridge: TestBridge, change: Partial<RemoteTonWalletOptions> = {}) => {
  const { link, wallet } = page(bridge, change)
  const connecting = wallet.connect("ton:mainnet", { manifestUrl })
  const { app } = RemoteTestWallet.readLink(await link)
  const owner = RemoteTestWallet.make(bridge)
  await owner.send(app, RemoteTestWallet.connectEvent())
  return { app, owner, wallet, connection: await connecting }
}

/** The wallet's request of this number, once it came. */
export const requestOf = async (bridge: TestBridge, owner: ReturnType<typeof RemoteTestWallet.make>, count = 1) => {
  await bridge.until(() => owner.requests().length >= count)
  return owner.requests()[count - 1] ?? assert.fail("no request came")
}

export const signed = (id: string, internalBoc = "signed") => ({ id, result: { internalBoc } })

/** The reason of a `WalletError`, another error as it is, or `none`. */
export const reasonOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error instanceof WalletError ? error.reason : error
  }
  return "none"
}

/** A store as a page's own storage. */
export const memory = (initial?: string) => {
  let session = initial
  return {
    load: () => session,
    save: (text: string | undefined) => {
      session = text
    }
  }
}
