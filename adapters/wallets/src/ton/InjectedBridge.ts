/** The bridge of a wallet in the page: `window.<key>.tonconnect` (TON Connect, "JS bridge"). */
import { WalletError } from "../Wallet.ts"
import { fieldOf, isRecord, nameOf } from "../WalletText.ts"
import { connectRequest, type TonBridge } from "./TonBridge.ts"
import type { TonWalletFacts } from "./TonWallet.ts"

/** A wallet found in a page. */
export interface InjectedTonWallet {
  readonly facts: TonWalletFacts
  readonly bridge: TonBridge
}

/** The wallets in a page, each once: any field of the window may hold one. */
export const find = (page: Window): ReadonlyArray<InjectedTonWallet> => {
  const seen = new Set<object>()
  return Object.getOwnPropertyNames(page).flatMap((key) => {
    const bridge = fieldOf(fieldOf(page, key), "tonconnect")
    if (!isRecord(bridge) || seen.has(bridge) || typeof bridge["connect"] !== "function") return []
    seen.add(bridge)
    const { deviceInfo, walletInfo } = bridge
    const facts = {
      id: key,
      name: nameOf(fieldOf(walletInfo, "name") ?? fieldOf(deviceInfo, "appName"), key),
      // The wallet's image is an address elsewhere: a page that loads nothing from others does without.
      icon: undefined,
      features: fieldOf(walletInfo, "features") ?? fieldOf(deviceInfo, "features")
    }
    return [{ facts, bridge: bridgeOf(bridge) }]
  })
}

const bridgeOf = (bridge: Readonly<Record<string, unknown>>): TonBridge => {
  const call = async (method: "connect" | "send", ...given: ReadonlyArray<unknown>): Promise<unknown> => {
    const act = bridge[method]
    if (typeof act !== "function") throw new WalletError("failed", `the wallet's bridge has no ${method}`)
    try {
      return await act.call(bridge, ...given)
    } catch (cause) {
      const said = fieldOf(cause, "message")
      throw new WalletError("failed", `the wallet's bridge failed at ${method}: ${String(said).slice(0, 200)}`, {
        cause
      })
    }
  }
  const version = Number(bridge["protocolVersion"])
  return {
    connect: (manifestUrl) => call("connect", Number.isInteger(version) ? version : 2, connectRequest(manifestUrl)),
    send: (request) => call("send", request),
    listen: (listener) => {
      const { listen } = bridge
      const stop: unknown = typeof listen === "function" ? listen.call(bridge, listener) : undefined
      return () => {
        if (typeof stop === "function") stop()
      }
    }
  }
}
