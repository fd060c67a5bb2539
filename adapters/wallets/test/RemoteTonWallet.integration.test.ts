/** A TON wallet over an HTTP bridge: the link, the session, signing, and a bridge that lies. */
import nacl from "tweetnacl"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

import type { RemoteTonWalletOptions } from "../src/remote.ts"
import * as NaclBox from "../src/ton/remote/NaclBox.ts"
import * as RemotePages from "./RemotePages.ts"
import * as RemoteTestWallet from "./RemoteTestWallet.ts"
import * as TestBridge from "./TestBridge.ts"

const { manifestUrl, memory, order, reasonOf, requestOf, signed } = RemotePages

let bridge: TestBridge.TestBridge

beforeEach(async () => {
  bridge = await TestBridge.open()
})

afterEach(() => {
  RemotePages.closeAll()
  bridge.close()
})

const page = (change: Partial<RemoteTonWalletOptions> = {}) => RemotePages.page(bridge, change)
const connected = (change: Partial<RemoteTonWalletOptions> = {}) => RemotePages.connected(bridge, change)

describe("the box", () => {
  it("is NaCl's", () => {
    const other = nacl.box.keyPair()
    const otherId = Buffer.from(other.publicKey).toString("hex")
    const secret = NaclBox.newSecret()
    const own = Buffer.from(NaclBox.clientId(secret), "hex")
    assert.deepStrictEqual(new Uint8Array(own), nacl.box.keyPair.fromSecretKey(secret).publicKey)
    const sealed = NaclBox.seal("grüße", secret, otherId)
    const text = nacl.box.open(sealed.slice(24), sealed.slice(0, 24), own, other.secretKey)
    assert.strictEqual(new TextDecoder().decode(text ?? new Uint8Array()), "grüße")
    const nonce = nacl.randomBytes(24)
    const box = nacl.box(new TextEncoder().encode("back"), nonce, own, other.secretKey)
    const back = Uint8Array.from([...nonce, ...box])
    assert.strictEqual(NaclBox.open(back, secret, otherId), "back")
    for (const at of [0, 30, back.length - 1]) {
      const changed = back.slice()
      changed[at] = (changed[at] ?? 0) ^ 1
      assert.isUndefined(NaclBox.open(changed, secret, otherId))
    }
    assert.isUndefined(NaclBox.open(back.slice(0, 39), secret, otherId))
    assert.isUndefined(NaclBox.open(back, secret, "00".repeat(32)), "a key of small order")
  })
})

describe("a wallet over a bridge", () => {
  it("connects by its link, and signs", async () => {
    const { link, wallet } = page()
    const connecting = wallet.connect("ton:mainnet", { manifestUrl })
    const read = RemoteTestWallet.readLink(await link)
    assert.deepInclude(read, { address: "https://wallet.example/ton-connect", version: "2", ret: "none" })
    assert.deepStrictEqual(read.request, { manifestUrl, items: [{ name: "ton_addr" }] })
    const owner = RemoteTestWallet.make(bridge)
    await owner.send(read.app, RemoteTestWallet.connectEvent())
    const { address, signer } = await connecting
    assert.strictEqual(address, RemoteTestWallet.account)
    const signing = signer.signMessage(order)
    const { id, method, params } = await requestOf(bridge, owner)
    assert.deepStrictEqual([method, params], ["signMessage", [JSON.stringify(order)]])
    assert.deepInclude(bridge.posted.at(-1), { ttl: "300", topic: "signMessage" })
    await owner.send(read.app, signed(id, "the message"))
    assert.deepStrictEqual(await signing, { internalBoc: "the message" })
  })

  it.each([
    [{ event: "connect_error", id: 1, payload: { code: 300, message: "no" } }, "rejected"],
    [RemoteTestWallet.connectEvent([{ name: "SendTransaction" }]), "unsupported"],
    [{ event: "connect", id: 1, payload: {} }, "failed"]
  ])("that answers the link with %j does not connect", async (event, reason) => {
    const { link, wallet } = page()
    const connecting = reasonOf(wallet.connect("ton:mainnet", { manifestUrl }))
    const { app } = RemoteTestWallet.readLink(await link)
    await RemoteTestWallet.make(bridge).send(app, event)
    assert.strictEqual(await connecting, reason)
  })

  it("whose owner declines has signed nothing", async () => {
    const { app, connection, owner } = await connected()
    const signing = reasonOf(connection.signer.signMessage(order))
    const { id } = await requestOf(bridge, owner)
    await owner.send(app, { id, error: { code: 300, message: "declined" } })
    assert.strictEqual(await signing, "rejected")
  })

  it("that says nothing is waited for no longer than its owner's patience", async () => {
    const { wallet } = page({ patience: 20 })
    assert.strictEqual(await reasonOf(wallet.connect("ton:mainnet", { manifestUrl })), "failed")
    const store = memory()
    await connected({ store })
    const next = await page({ store, patience: 20 }).wallet.connect("ton:mainnet", { manifestUrl })
    assert.strictEqual(await reasonOf(next.signer.signMessage(order)), "failed")
  })

  it("is still connected in the next visit, and the answers of the last one answer nothing", async () => {
    const store = memory()
    const first = await connected({ store })
    const signing = first.connection.signer.signMessage(order)
    const { id } = await requestOf(bridge, first.owner)
    await first.owner.send(first.app, signed(id, "old"))
    await signing
    const { wallet } = page({ store, onLink: () => assert.fail("a link was shown") })
    const { address, signer } = await wallet.connect("ton:mainnet", { manifestUrl })
    assert.strictEqual(address, RemoteTestWallet.account)
    const again = signer.signMessage(order)
    const next = await requestOf(bridge, first.owner, 2)
    assert.notStrictEqual(next.id, id)
    bridge.replay(first.app)
    await first.owner.send(first.app, signed(next.id, "new"))
    assert.deepStrictEqual(await again, { internalBoc: "new" })
  })

  it("is told when the page disconnects, and tells when its owner does", async () => {
    const store = memory()
    const { app, connection, owner, wallet } = await connected({ store })
    await wallet.disconnect()
    assert.strictEqual((await requestOf(bridge, owner)).method, "disconnect")
    assert.isUndefined(store.load())
    assert.strictEqual(await reasonOf(connection.signer.signMessage(order)), "locked")
    void app
    const other = await connected({ store })
    const changed = new Promise((resolve) => other.connection.onChange(resolve))
    await other.owner.send(other.app, { event: "disconnect", id: 2, payload: {} })
    assert.strictEqual(await changed, "disconnect")
    assert.isUndefined(store.load())
  })
})

describe("a bridge", () => {
  it("that loses the connection is asked again for what came meanwhile", async () => {
    const { app, connection, owner } = await connected()
    const signing = connection.signer.signMessage(order)
    const { id } = await requestOf(bridge, owner)
    bridge.cut(app)
    await owner.send(app, signed(id))
    assert.deepStrictEqual(await signing, { internalBoc: "signed" })
    assert.match(bridge.asked.at(-1) ?? "", /last_event_id=\d+/)
  })

  it("that takes no message is a failure, and nothing waits", async () => {
    const { connection } = await connected()
    bridge.state.refuses = true
    assert.strictEqual(await reasonOf(connection.signer.signMessage(order)), "failed")
  })

  it("that forges, garbles, repeats or floods changes nothing", async () => {
    const { app, connection, owner } = await connected()
    const signing = connection.signer.signMessage(order)
    const { id } = await requestOf(bridge, owner)
    const stranger = RemoteTestWallet.make(bridge)
    await stranger.send(app, signed(id, "a stranger's"))
    bridge.deliver(app, JSON.stringify({ from: owner.id, message: stranger.seal(app, signed(id, "forged")) }))
    for (const data of [
      "not JSON",
      "{}",
      JSON.stringify({ from: owner.id, message: "!" }),
      JSON.stringify({ from: owner.id, message: "AAAA" }),
      JSON.stringify({ from: "zz", message: owner.seal(app, signed(id, "no client")) }),
      JSON.stringify({ from: owner.id, message: owner.seal(app, signed(id, "x".repeat(100_000))) })
    ])
      bridge.deliver(app, data)
    bridge.write(app, `data: ${"y".repeat(1_000_000)}`)
    bridge.write(app, "\r\n\r\n: comment\r\n\r\n")
    bridge.replay(app)
    await owner.send(app, signed("99", "never asked"))
    await owner.send(app, { ...RemoteTestWallet.connectEvent(), id: 0 })
    await stranger.send(app, { event: "disconnect", id: 9, payload: {} })
    await owner.send(app, signed(id, "the owner's"))
    assert.deepStrictEqual(await signing, { internalBoc: "the owner's" })
  })

  it("cannot put another wallet in the place of the connected one", async () => {
    const { app, connection, owner } = await connected()
    const stranger = RemoteTestWallet.make(bridge)
    await stranger.send(app, { ...RemoteTestWallet.connectEvent(), id: 7 })
    const signing = connection.signer.signMessage(order)
    const { id } = await requestOf(bridge, owner)
    await owner.send(app, signed(id))
    await signing
    assert.deepStrictEqual(stranger.requests(), [])
  })
})
