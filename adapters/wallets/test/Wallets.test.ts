/** Wallets of each family in a page: found once, connected to the network that is asked for, and honest about what they cannot do. */
import type { EvmSigner } from "@pontage/evm"
import type { TonSigner } from "@pontage/ton"
import type { TronSigner } from "@pontage/tron"
import { assert, describe, it } from "vitest"

import { type AnyWallet, type DiscoverOptions, discover, WalletError } from "../src/index.ts"
import * as TestPage from "./TestPage.ts"

const found = (page: Window, options: Partial<DiscoverOptions> = {}) => {
  const wallets: Array<AnyWallet> = []
  const stop = discover({ ...options, page, found: (wallet) => wallets.push(wallet) })
  return { wallets, stop }
}

const announce = (page: Window, provider: unknown, info: object, kind = "eip6963") => {
  const standard = kind === "eip6963" ? "eip6963" : "TIP6963"
  const detail = {
    info: { uuid: "1", name: "Test", rdns: "example.test", icon: "data:image/png;base64,AA==", ...info },
    provider
  }
  page.dispatchEvent(new CustomEvent(`${standard}:announceProvider`, { detail }))
}

const evmWallet = (provider: unknown, info: object = {}) => {
  const page = TestPage.page()
  const { wallets } = found(page)
  announce(page, provider, info)
  const [wallet] = wallets
  if (wallet?.family !== "evm") return assert.fail("no EVM wallet was found")
  return wallet
}

const reasonOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error instanceof WalletError ? error.reason : error
  }
  return "none"
}

const chain = {
  name: "Other",
  rpcUrls: ["https://rpc.example"],
  currency: { name: "Coin", symbol: "COIN", decimals: 18 }
}

const typedData = {
  domain: {
    name: "Test Dollar",
    version: "1",
    chainId: 31337,
    verifyingContract: "0x5fbdb2315678afecb367f032d93f642f64180aa3"
  },
  types: {
    TransferWithAuthorization: [
      { name: "from", type: "address" },
      { name: "to", type: "address" },
      { name: "value", type: "uint256" },
      { name: "validAfter", type: "uint256" },
      { name: "validBefore", type: "uint256" },
      { name: "nonce", type: "bytes32" }
    ]
  },
  primaryType: "TransferWithAuthorization",
  message: {
    from: TestPage.evmKey.address.toLowerCase(),
    to: `0x${"22".repeat(20)}`,
    value: 10_000n,
    validAfter: 0n,
    validBefore: 1_800_000_000n,
    nonce: `0x${"33".repeat(32)}`
  }
}

const olderPage = () => TestPage.page({ ethereum: TestPage.evmProvider(), tron: TestPage.tronProvider() })

describe("discovery", () => {
  it("finds all wallets of a page, of each family, those that come late too, and each once", () => {
    const evm = TestPage.evmProvider()
    const page = TestPage.page({
      tron: TestPage.tronProvider(),
      testwallet: TestPage.tonWallet([{ name: "SignMessage" }])
    })
    const { stop, wallets } = found(page)
    announce(page, evm, { rdns: "one.example" })
    announce(page, evm, { rdns: "one.example" })
    announce(page, TestPage.evmProvider(), { rdns: "two.example" })
    page.dispatchEvent(new Event("load"))
    assert.deepStrictEqual(
      wallets.map(({ family, id }) => `${family} ${id}`),
      ["ton testwallet", "tron window.tron", "evm one.example", "evm two.example"]
    )
    stop()
    announce(page, TestPage.evmProvider(), { rdns: "three.example" })
    assert.lengthOf(wallets, 4)
  })

  it("finds a wallet of before the announcements, and only the families that are wanted", () => {
    assert.deepStrictEqual(
      found(olderPage()).wallets.map(({ id }) => id),
      ["window.tron", "window.ethereum"]
    )
    assert.deepStrictEqual(
      found(olderPage(), { families: ["tron"] }).wallets.map(({ id }) => id),
      ["window.tron"]
    )
  })

  it("takes no text and no image of a wallet that could deceive or load something", () => {
    const wallet = evmWallet(TestPage.evmProvider(), {
      name: "Good\u202e\u0000 wallet",
      icon: "https://elsewhere.example/i.png"
    })
    assert.deepStrictEqual([wallet.name, wallet.icon], ["Good wallet", undefined])
    const page = TestPage.page({
      trap: {
        get tonconnect() {
          throw new Error("a getter that throws")
        }
      }
    })
    const { wallets } = found(page)
    for (const detail of [null, 7, {}, { info: {} }, { info: { rdns: "x" }, provider: {} }])
      page.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }))
    assert.deepStrictEqual(wallets, [])
  })
})

describe("EVM wallets", () => {
  it("sign typed data by which the account is recovered", async () => {
    const connection = await evmWallet(TestPage.evmProvider()).connect("eip155:31337")
    const signer: EvmSigner.EvmSigner = connection.signer
    assert.strictEqual(signer.address, TestPage.evmKey.address)
    const direct = await TestPage.evmKey.signTypedData(Object(typedData))
    assert.strictEqual(await connection.signer.signTypedData(typedData), direct)
  })

  it("change their network, and add one that they do not know", async () => {
    const provider = TestPage.evmProvider()
    assert.strictEqual((await evmWallet(provider).connect("eip155:8453")).network, "eip155:8453")
    assert.strictEqual(provider.state.chainId, "0x2105")
    assert.strictEqual(await reasonOf(evmWallet(provider).connect("eip155:10")), "wrong_network")
    await evmWallet(provider).connect("eip155:10", { chain })
    assert.strictEqual(provider.state.chainId, "0xa")
  })

  it("are not believed when they say that they have changed and have not", async () => {
    const provider = TestPage.evmProvider(({ method }) =>
      method === "wallet_switchEthereumChain" ? "changed" : undefined
    )
    assert.strictEqual(await reasonOf(evmWallet(provider).connect("eip155:8453")), "wrong_network")
  })

  it("refuse to sign once the account or the network is another one", async () => {
    const provider = TestPage.evmProvider()
    const { signer } = await evmWallet(provider).connect("eip155:31337")
    provider.state.chainId = "0x2105"
    assert.strictEqual(await reasonOf(signer.signTypedData(typedData)), "changed")
    provider.state.chainId = "0x7a69"
    provider.state.accounts = [`0x${"77".repeat(20)}`]
    assert.strictEqual(await reasonOf(signer.signTypedData(typedData)), "changed")
    assert.notInclude(provider.calls, "eth_signTypedData_v4")
  })

  it.each([
    [4001, "rejected"],
    [4100, "locked"],
    [-32002, "busy"],
    [4200, "unsupported"],
    [-32603, "failed"]
  ])("give the code %s a reason: %s", async (code, reason) => {
    const provider = TestPage.evmProvider(({ method }) => {
      if (method === "eth_requestAccounts") throw TestPage.providerError(code, "said by the wallet")
    })
    assert.strictEqual(await reasonOf(evmWallet(provider).connect("eip155:31337")), reason)
  })

  it.each([[[]], ["0x"], [[7]], [["T1"]], [7], [["0x1234"]]])("that share %j share no account", async (accounts) => {
    const provider = TestPage.evmProvider(({ method }) => (method === "eth_requestAccounts" ? accounts : undefined))
    assert.strictEqual(await reasonOf(evmWallet(provider).connect("eip155:31337")), "locked")
  })

  it("that return no text as a signature have failed", async () => {
    const provider = TestPage.evmProvider(({ method }) => (method === "eth_signTypedData_v4" ? 7 : undefined))
    const { signer } = await evmWallet(provider).connect("eip155:31337")
    assert.strictEqual(await reasonOf(signer.signTypedData(typedData)), "failed")
    assert.strictEqual(await reasonOf(evmWallet(provider).connect("tron:mainnet")), "unsupported")
  })

  it("tell of changes until nobody listens", async () => {
    const provider = TestPage.evmProvider()
    const { onChange } = await evmWallet(provider).connect("eip155:31337")
    const changes: Array<string> = []
    const stop = onChange((change) => changes.push(change))
    for (const event of ["accountsChanged", "chainChanged", "disconnect"]) provider.emit(event)
    stop()
    provider.emit("accountsChanged")
    assert.deepStrictEqual(changes, ["account", "network", "disconnect"])
  })
})

const tronWallet = (provider: ReturnType<typeof TestPage.tronProvider>) => {
  const [wallet] = found(TestPage.page({ tron: provider })).wallets
  if (wallet?.family !== "tron") return assert.fail("no TRON wallet was found")
  return wallet
}

describe("TRON wallets", () => {
  it("sign the bytes of a transaction", async () => {
    const { signer } = await tronWallet(TestPage.tronProvider()).connect("tron:mainnet")
    const typed: TronSigner.TronSigner = signer
    assert.strictEqual(typed.address, TestPage.tronKey.address)
    const signed = await signer.signTransaction({ raw_data_hex: "0a02" })
    assert.strictEqual(signed.raw_data_hex, "0a02")
    assert.lengthOf(signed.signature, 1)
  })

  it("change their network where it has an id, and are taken as they are on a network of its own", async () => {
    const provider = TestPage.tronProvider()
    await tronWallet(provider).connect("tron:nile")
    assert.strictEqual(provider.state.chainId, "0xcd8690dc")
    await tronWallet(provider).connect("tron:local")
    assert.strictEqual(provider.state.chainId, "0xcd8690dc")
  })

  it("that are locked or decline say so", async () => {
    const locked = TestPage.tronProvider()
    locked.state.isLocked = true
    assert.strictEqual(await reasonOf(tronWallet(locked).connect("tron:mainnet")), "locked")
    const declining = TestPage.tronProvider(() => {
      throw new Error("Confirmation declined by user")
    })
    const { signer } = await tronWallet(declining).connect("tron:mainnet")
    assert.strictEqual(await reasonOf(signer.signTransaction({})), "rejected")
    declining.state.isLocked = true
    assert.strictEqual(await reasonOf(signer.signTransaction({})), "locked")
  })

  it.each([
    [undefined],
    ["0x"],
    [{ raw_data_hex: 1 }],
    [{ raw_data_hex: "00", signature: "00" }],
    [{ raw_data_hex: "00", signature: [1] }]
  ])("that return %j instead of a signed transaction have failed", async (garbage) => {
    const { signer } = await tronWallet(TestPage.tronProvider(() => garbage)).connect("tron:mainnet")
    assert.strictEqual(await reasonOf(signer.signTransaction({})), "failed")
  })
})

const tonWallet = (...given: Parameters<typeof TestPage.tonWallet>) => {
  const [wallet] = found(TestPage.page({ testwallet: TestPage.tonWallet(...given) })).wallets
  if (wallet?.family !== "ton") return assert.fail("no TON wallet was found")
  return wallet
}
const signMessage = [{ name: "SendTransaction", maxMessages: 4 }, { name: "SignMessage" }]
const manifestUrl = "https://shop.example/tonconnect-manifest.json"

describe("TON wallets", () => {
  it("with signMessage sign an order as TON Connect has it", async () => {
    const orders: Array<unknown> = []
    const { address, signer } = await tonWallet(signMessage, ({ method, params }) => {
      orders.push([method, JSON.parse(params[0] ?? "")])
      return { result: { internalBoc: "te6cc" } }
    }).connect("ton:mainnet", { manifestUrl })
    const typed: TonSigner.TonMessageSigner = signer
    assert.deepStrictEqual([typed.address, address], [TestPage.tonAddress, TestPage.tonAddress])
    assert.deepStrictEqual(await signer.signMessage({ valid_until: 7 }), { internalBoc: "te6cc" })
    assert.deepStrictEqual(orders, [["signMessage", { valid_until: 7 }]])
  })

  it("without signMessage cannot pay, and say so before anything is asked", async () => {
    const wallet = tonWallet(["SendTransaction", { name: "SendTransaction", maxMessages: 4 }])
    assert.deepStrictEqual(wallet.features, [])
    assert.strictEqual(await reasonOf(wallet.connect("ton:mainnet", { manifestUrl })), "unsupported")
  })

  it("on another network are not asked to sign", async () => {
    assert.strictEqual(
      await reasonOf(tonWallet(signMessage, undefined, "-3").connect("ton:mainnet", { manifestUrl })),
      "wrong_network"
    )
    assert.strictEqual(await reasonOf(tonWallet(signMessage).connect("ton:mainnet")), "failed")
    assert.strictEqual(await reasonOf(tonWallet(signMessage).connect("eip155:1", { manifestUrl })), "unsupported")
  })

  it.each([
    [{ error: { code: 300, message: "User declined the request" } }, "rejected"],
    [{ error: { code: 400, message: "unknown method" } }, "unsupported"],
    [{ error: { code: 0 } }, "failed"],
    [{ result: {} }, "failed"],
    [undefined, "failed"]
  ])("that respond with %j: %s", async (response, reason) => {
    const { signer } = await tonWallet(signMessage, () => response).connect("ton:mainnet", { manifestUrl })
    assert.strictEqual(await reasonOf(signer.signMessage({})), reason)
  })
})
