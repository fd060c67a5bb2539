/**
 * Wallets that are put into a page before its scripts run. They follow their protocols to the letter; their keys are real and stay in
 * this process. `manner` makes one reject, lie or wait.
 */
import type { DevNet } from "@pontage/devnet"
import { exactEvm } from "@pontage/evm"
import { TonBoc, TonMessage, TonAddress } from "@pontage/ton"
import { exactTron } from "@pontage/tron"
import { Cell, internal, SendMode } from "@ton/core"
import type { Page } from "puppeteer-core"

/** The behaviour of the wallets of one page; it may change while the page runs. */
export interface Manner {
  families: ReadonlyArray<"evm" | "ton" | "tron">
  /** EVM: the wallet's chain; it changes to others, but never to one that `refuses` names. */
  chainId: number
  refusesChains: boolean
  rejects: boolean
  /** The signature is of the right form, and not one of the account. */
  garbage: boolean
  /** TON: whether the wallet has signMessage. */
  hasSignMessage: boolean
  /** Waits before it signs. */
  beforeSigning: () => Promise<void>
  readonly asked: Array<string>
}

/** The usual behaviour: everything is signed. */
export const manner = (change: Partial<Manner> = {}): Manner => ({
  families: ["evm", "ton", "tron"],
  chainId: 31337,
  refusesChains: false,
  rejects: false,
  garbage: false,
  hasSignMessage: true,
  beforeSigning: () => Promise.resolve(),
  asked: [],
  ...change
})

const refusal = (code: number, message: string) => ({ error: { code, message } })
const rejected = refusal(4001, "User rejected the request")

interface Call {
  readonly method: string
  readonly params?: ReadonlyArray<unknown>
}

const field = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)

const signs = async (given: Manner, method: string): Promise<boolean> => {
  given.asked.push(method)
  await given.beforeSigning()
  return !given.rejects
}

const numbers = (name: string, value: unknown): unknown =>
  ["value", "validAfter", "validBefore"].includes(name) ? BigInt(String(value)) : value

/** The EVM wallet: an EIP-1193 provider of one key. */
const evmWallet = (privateKey: string, given: Manner) => {
  const signer = exactEvm.localSigner(privateKey)
  return async ({ method, params = [] }: Call): Promise<unknown> => {
    switch (method) {
      case "eth_requestAccounts":
      case "eth_accounts":
        return { result: [signer.address] }
      case "eth_chainId":
        return { result: `0x${given.chainId.toString(16)}` }
      case "wallet_switchEthereumChain":
        if (given.refusesChains) return refusal(4902, "Unrecognized chain ID")
        given.chainId = Number(field(params[0], "chainId"))
        return { result: null }
      case "eth_signTypedData_v4": {
        if (!(await signs(given, method))) return rejected
        if (given.garbage) return { result: `0x${"11".repeat(64)}1b` }
        return { result: await signer.signTypedData(JSON.parse(String(params[1]), numbers)) }
      }
      default:
        return refusal(4200, `${method} is not supported`)
    }
  }
}

/** The TON wallet: signMessage of TON Connect by a W5 contract. */
export const tonWallet =
  (payer: DevNet.DevNet["ton"]["accounts"]["payers"][number], given: Manner, seqno: () => Promise<number>) =>
  async ({ method, params = [] }: Call): Promise<unknown> => {
    if (method !== "signMessage") return refusal(400, `${method} is not supported`)
    if (!(await signs(given, method))) return refusal(300, "User declined the request")
    if (given.garbage) return { result: { internalBoc: "te6cckEBAQEAAgAAAEysuc0=" } }
    const order: unknown = JSON.parse(String(params[0]))
    const messages = Object.values(Object(field(order, "messages"))).map((message) =>
      internal({
        to: String(field(message, "address")),
        value: BigInt(String(field(message, "amount"))),
        bounce: true,
        body: Cell.fromBase64(String(field(message, "payload")))
      })
    )
    const body = payer.wallet.createTransfer({
      authType: "internal",
      seqno: await seqno(),
      timeout: Number(field(order, "valid_until")),
      secretKey: payer.secretKey,
      sendMode: SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS,
      messages
    })
    const to = TonAddress.fromText(payer.raw)
    if (to === undefined) return refusal(0, "the payer has no address")
    return { result: { internalBoc: TonBoc.toBase64(TonMessage.internal(to, 0n, body)) } }
  }

/** The TRON wallet: `tronWeb.trx.sign` of the given bytes. */
const tronWallet = (privateKey: string, given: Manner) => {
  const signer = exactTron.localSigner(privateKey)
  const signing = async (transaction: Parameters<typeof signer.signTransaction>[0]): Promise<unknown> => {
    if (!(await signs(given, "trx.sign"))) return { error: { message: "Confirmation declined by user" } }
    const signed = await signer.signTransaction(transaction)
    return { result: given.garbage ? { ...signed, signature: [`${"11".repeat(64)}1b`] } : signed }
  }
  return { address: signer.address, signing }
}

/** The keys of one payer of each family. */
export interface Payers {
  readonly evm: string
  readonly ton: DevNet.DevNet["ton"]["accounts"]["payers"][number]
  readonly tonSeqno: () => Promise<number>
  readonly tron: string
}

/** Puts the wallets into every document of a page. */
export const inject = async (page: Page, payers: Payers, given: Manner): Promise<void> => {
  const evm = evmWallet(payers.evm, given)
  const ton = tonWallet(payers.ton, given, payers.tonSeqno)
  const tron = tronWallet(payers.tron, given)
  await page.exposeFunction("walletOfEvm", (call: Call) => evm(call))
  await page.exposeFunction("walletOfTon", (call: Call) => ton(call))
  await page.exposeFunction("walletOfTron", tron.signing)
  const facts = {
    families: given.families,
    tonAddress: payers.ton.raw,
    tronAddress: tron.address,
    features: given.hasSignMessage
      ? [{ name: "SendTransaction" }, { name: "SignMessage" }]
      : [{ name: "SendTransaction" }]
  }
  await page.evaluateOnNewDocument(inPage, facts)
}

/* oxlint-disable unicorn/consistent-function-scoping -- the whole function is sent into the page, where nothing around it is. */
/** Runs in the page. */
const inPage = (facts: {
  readonly families: ReadonlyArray<string>
  readonly tonAddress: string
  readonly tronAddress: string
  readonly features: ReadonlyArray<unknown>
}): void => {
  const call = async (name: string, argument: unknown): Promise<unknown> => {
    const { error, result } = await Reflect.get(window, name)(argument)
    if (error) throw Object.assign(new Error(error.message), error)
    return result
  }
  const put = (name: string, value: unknown) => Object.defineProperty(window, name, { value, configurable: true })
  if (facts.families.includes("evm")) {
    const provider = { request: (asked: unknown) => call("walletOfEvm", asked), on() {}, removeListener() {} }
    const icon =
      "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Crect width='8' height='8' rx='2' fill='%23f6851b'/%3E%3C/svg%3E"
    const info = { uuid: "00000000-0000-4000-8000-000000000001", name: "Amber Wallet", rdns: "test.local.amber", icon }
    const announce = () =>
      window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }))
    window.addEventListener("eip6963:requestProvider", announce)
  }
  if (facts.families.includes("ton")) {
    const device = {
      platform: "browser",
      appName: "bluewallet",
      appVersion: "1",
      maxProtocolVersion: 2,
      features: facts.features
    }
    const items = [{ name: "ton_addr", address: facts.tonAddress, network: "-217", walletStateInit: "", publicKey: "" }]
    const tonconnect = {
      deviceInfo: device,
      walletInfo: { name: "Blue Wallet", image: "https://elsewhere.invalid/icon.png" },
      protocolVersion: 2,
      connect: async () => ({ event: "connect", id: 1, payload: { items, device } }),
      send: async (request: unknown) => Reflect.get(window, "walletOfTon")(request),
      listen: () => () => undefined
    }
    put("bluewallet", { tonconnect })
  }
  if (facts.families.includes("tron")) {
    const trx = { sign: (transaction: unknown) => call("walletOfTron", transaction) }
    put("tron", {
      request: async ({ method }: { readonly method: string }) => {
        if (method === "eth_requestAccounts") return [facts.tronAddress]
        throw Object.assign(new Error("not supported"), { code: 4200 })
      },
      on() {},
      removeListener() {},
      tronWeb: { defaultAddress: { base58: facts.tronAddress }, trx }
    })
  }
}
