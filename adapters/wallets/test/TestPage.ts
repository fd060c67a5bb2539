/** A page's window with wallets in it, whose owner is a program. The keys are real: what the wallets sign is valid. */
import { exactEvm } from "@pontage/evm"
import { exactTron } from "@pontage/tron"

/** One call of a provider. */
export interface Call {
  readonly method: string
  readonly params?: ReadonlyArray<unknown>
}

/** An error as providers reject with it. */
export const providerError = (code: number, message: string) => Object.assign(new Error(message), { code })

/** A window without a document: events and fields. */
export const page = (fields: Readonly<Record<string, unknown>> = {}): Window => {
  const target: unknown = Object.assign(new EventTarget(), fields)
  if (!isWindow(target)) throw new TypeError("the page is no window")
  return target
}

const isWindow = (value: unknown): value is Window => value instanceof EventTarget

export const evmKey = exactEvm.localSigner(`0x${"59".repeat(32)}`)
export const tronKey = exactTron.localSigner("11".repeat(32))

/** An EIP-1193 provider with one account on one of its chains; `react` may answer a call in another way. */
export const evmProvider = (react: (call: Call) => unknown = () => undefined) => {
  const calls: Array<string> = []
  const listeners = new Map<string, Set<() => void>>()
  const state = { chainId: "0x7a69", known: ["0x7a69", "0x2105"], accounts: [evmKey.address] }
  const answer = (call: Call): unknown => {
    const [first]: ReadonlyArray<unknown> = call.params ?? []
    const wanted = String(Reflect.get(Object(first), "chainId"))
    switch (call.method) {
      case "eth_requestAccounts":
      case "eth_accounts":
        return state.accounts
      case "eth_chainId":
        return state.chainId
      case "wallet_switchEthereumChain":
        if (!state.known.includes(wanted)) throw providerError(4902, "Unrecognized chain ID")
        state.chainId = wanted
        return null
      case "wallet_addEthereumChain":
        state.known.push(wanted)
        state.chainId = wanted
        return null
      case "eth_signTypedData_v4":
        return evmKey.signTypedData(JSON.parse(String(call.params?.[1]), reviveNumbers))
      default:
        throw providerError(4200, `${call.method} is not supported`)
    }
  }
  return {
    calls,
    state,
    emit: (event: string) => listeners.get(event)?.forEach((listener) => listener()),
    on: (event: string, listener: () => void) => {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(listener))
    },
    removeListener: (event: string, listener: () => void) => listeners.get(event)?.delete(listener),
    request: async (call: Call): Promise<unknown> => {
      calls.push(call.method)
      return react(call) ?? answer(call)
    }
  }
}

const reviveNumbers = (name: string, value: unknown): unknown =>
  ["value", "validAfter", "validBefore"].includes(name) ? BigInt(String(value)) : value

/** TronLink's object: `window.tron`. */
export const tronProvider = (sign: (transaction: unknown) => unknown = signTron) => {
  const state = { chainId: "0x2b6653dc", isLocked: false }
  return {
    state,
    get tronWeb() {
      return state.isLocked
        ? false
        : { defaultAddress: { base58: tronKey.address }, trx: { sign: async (one: unknown) => sign(one) } }
    },
    request: async ({ method, params }: Call): Promise<unknown> => {
      if (method === "eth_requestAccounts") return [tronKey.address]
      if (method === "eth_chainId") return state.chainId
      if (method !== "wallet_switchEthereumChain") throw providerError(4200, `${method} is not supported`)
      state.chainId = String(Reflect.get(Object(params?.[0]), "chainId"))
      return null
    }
  }
}

const signTron = (transaction: unknown) => tronKey.signTransaction(JSON.parse(JSON.stringify(transaction)))

export const tonAddress = `0:${"ea".repeat(32)}`

/** A wallet of TON Connect in the page; `respond` answers its requests. */
export const tonWallet = (
  features: ReadonlyArray<unknown>,
  respond: (request: { readonly method: string; readonly params: ReadonlyArray<string> }) => unknown = () => ({
    result: { internalBoc: "te6c" }
  }),
  network = "-239"
) => {
  const device = { platform: "browser", appName: "testwallet", appVersion: "1", maxProtocolVersion: 2, features }
  const items = [{ name: "ton_addr", address: tonAddress, network, walletStateInit: "", publicKey: "" }]
  return {
    tonconnect: {
      deviceInfo: device,
      walletInfo: { name: "Test wallet", image: "https://elsewhere.example/icon.png" },
      protocolVersion: 2,
      connect: async (): Promise<unknown> => ({ event: "connect", id: 1, payload: { items, device } }),
      send: async (request: { readonly method: string; readonly params: ReadonlyArray<string> }) => respond(request),
      listen: () => () => undefined
    }
  }
}
