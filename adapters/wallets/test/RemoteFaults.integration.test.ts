/** A TON wallet over an HTTP bridge while something else goes on: other links, other tabs, strangers, a bridge or a store that fails. */
import { afterEach, assert, beforeEach, describe, it } from "vitest"

import { remoteTonWallet, type RemoteTonWalletOptions } from "../src/remote.ts"
import * as EventStream from "../src/ton/remote/EventStream.ts"
import * as Session from "../src/ton/remote/Session.ts"
import * as RemotePages from "./RemotePages.ts"
import * as RemoteTestWallet from "./RemoteTestWallet.ts"
import * as TestBridge from "./TestBridge.ts"

const { manifestUrl, memory, order, reasonOf, requestOf, signed } = RemotePages

let bridge: TestBridge.TestBridge
let other: TestBridge.TestBridge

beforeEach(async () => {
  bridge = await TestBridge.open()
  other = await TestBridge.open()
})

afterEach(() => {
  RemotePages.closeAll()
  bridge.close()
  other.close()
})

const page = (change: Partial<RemoteTonWalletOptions> = {}) => RemotePages.page(bridge, change)
const connected = (change: Partial<RemoteTonWalletOptions> = {}) => RemotePages.connected(bridge, change)

describe("a session", () => {
  it("outlives a link that was shown before and not opened", async () => {
    const store = memory()
    const links: Array<string> = []
    const { wallet } = page({ store, onLink: (link) => links.push(link) })
    const first = reasonOf(wallet.connect("ton:mainnet", { manifestUrl }))
    const second = wallet.connect("ton:mainnet", { manifestUrl })
    assert.strictEqual(await first, "locked", "the first link counts no more")
    const { app } = RemoteTestWallet.readLink(links[1] ?? "")
    const owner = RemoteTestWallet.make(bridge)
    await owner.send(app, RemoteTestWallet.connectEvent())
    const signing = (await second).signer.signMessage(order)
    await owner.send(app, signed((await requestOf(bridge, owner)).id))
    assert.deepStrictEqual(await signing, { internalBoc: "signed" })
    assert.isString(store.load())
  })

  it("of one tab stays stored when another tab gives up its link, and is not stored again once it was removed", async () => {
    const store = memory()
    const waiting = page({ store })
    const connecting = reasonOf(waiting.wallet.connect("ton:mainnet", { manifestUrl }))
    await waiting.link
    const { app, connection, owner, wallet } = await connected({ store })
    waiting.wallet.close()
    assert.strictEqual(await connecting, "locked")
    assert.isString(store.load())
    const tab = await page({ store }).wallet.connect("ton:mainnet", { manifestUrl })
    wallet.close()
    assert.isUndefined(store.load())
    const signing = tab.signer.signMessage(order)
    await owner.send(app, signed((await requestOf(bridge, owner)).id))
    await signing
    assert.isUndefined(store.load())
    assert.strictEqual(await reasonOf(connection.signer.signMessage(order)), "locked")
  })

  it("of two tabs has a number of its own for each request, and an answer reaches the tab that asked", async () => {
    const store = memory()
    const { app, owner } = await connected({ store })
    const [one, two] = await Promise.all(
      [1, 2].map(() => page({ store }).wallet.connect("ton:mainnet", { manifestUrl }))
    )
    await bridge.until(() => bridge.asked.length >= 3)
    const first = one?.signer.signMessage({ ...order, valid_until: 1 })
    const second = two?.signer.signMessage({ ...order, valid_until: 2 })
    await requestOf(bridge, owner, 2)
    const [{ id: early } = { id: "" }, { id: late } = { id: "" }] = owner
      .requests()
      .toSorted((a, b) => String(a.params).localeCompare(String(b.params)))
    assert.isAbove(Number(late), Number(early), "wallets refuse a number that is not greater")
    await owner.send(app, signed(early, "for one"))
    await owner.send(app, signed(late, "for two"))
    assert.deepStrictEqual(await Promise.all([first, second]), [{ internalBoc: "for one" }, { internalBoc: "for two" }])
  })

  it("counts its requests upwards, by steps that another tab does not know", () => {
    const session = Session.make("https://bridge.example")
    const numbers = Array.from({ length: 1000 }, () => Number(Session.nextRequest(session)))
    assert.isTrue(numbers.every((one, index) => one > (numbers[index - 1] ?? 0) && Number.isSafeInteger(one)))
    const copies = new Set(Array.from({ length: 64 }, () => Session.nextRequest({ ...session })))
    assert.isAbove(copies.size, 32)
  })

  it("ends what waits for it at once: when its wallet disconnects, and when it is closed", async () => {
    const store = memory()
    const { app, connection, owner } = await connected({ store })
    const signing = reasonOf(connection.signer.signMessage(order))
    await requestOf(bridge, owner)
    await owner.send(app, { event: "disconnect", id: 2, payload: {} })
    assert.strictEqual(await signing, "locked")
    assert.isUndefined(store.load())
    const next = await connected()
    const again = reasonOf(next.connection.signer.signMessage(order))
    await requestOf(bridge, next.owner)
    next.wallet.close()
    assert.strictEqual(await again, "locked")
    const { link, wallet } = page()
    const connecting = reasonOf(wallet.connect("ton:mainnet", { manifestUrl }))
    await link
    wallet.close()
    assert.strictEqual(await connecting, "locked")
  })

  it("is used at its own bridge only", async () => {
    const store = memory()
    await connected({ store })
    const { link, wallet } = page({ store, bridge: other.url })
    void reasonOf(wallet.connect("ton:mainnet", { manifestUrl }))
    const { app } = RemoteTestWallet.readLink(await link)
    await other.until(() => other.asked.length > 0)
    assert.deepStrictEqual(other.asked, [`client_id=${app}`])
  })

  it.each(["load", "save"] as const)("is as without a store where %s throws", async (method) => {
    const store = {
      ...memory(),
      [method]: () => {
        throw new DOMException("denied", "SecurityError")
      }
    }
    const { app, connection, owner, wallet } = await connected({ store })
    const signing = connection.signer.signMessage(order)
    await owner.send(app, signed((await requestOf(bridge, owner)).id))
    assert.deepStrictEqual(await signing, { internalBoc: "signed" })
    await wallet.disconnect()
  })
})

describe("a bridge", () => {
  it("that never says it took a request passes the answer on, and ends the owner's patience no later", async () => {
    const store = memory()
    const { app, connection, owner } = await connected({ store })
    bridge.state.isSilent = true
    const signing = connection.signer.signMessage(order)
    const { id } = await requestOf(bridge, owner)
    bridge.deliver(app, JSON.stringify({ from: owner.id, message: owner.seal(app, signed(id)) }))
    assert.deepStrictEqual(await signing, { internalBoc: "signed" })
    await bridge.until(() => bridge.state.abandoned === 1)
    const impatient = page({ store, patience: 20 }).wallet
    const next = await impatient.connect("ton:mainnet", { manifestUrl })
    assert.strictEqual(await reasonOf(next.signer.signMessage(order)), "failed")
    assert.strictEqual(await reasonOf(impatient.disconnect()), "failed")
  })

  it("through which a stranger counts events connects the wallet all the same", async () => {
    const { link, wallet } = page()
    const connecting = wallet.connect("ton:mainnet", { manifestUrl })
    const { app } = RemoteTestWallet.readLink(await link)
    await RemoteTestWallet.make(bridge).send(app, { event: "x", id: 9e15, payload: {} })
    await RemoteTestWallet.make(bridge).send(app, RemoteTestWallet.connectEvent())
    assert.strictEqual((await connecting).address, RemoteTestWallet.account)
  })

  it("that leads elsewhere is not followed", async () => {
    const { connection } = await connected()
    bridge.state.elsewhere = other.url
    assert.strictEqual(await reasonOf(connection.signer.signMessage(order)), "failed")
    assert.deepStrictEqual(other.posted, [])
    const asked = bridge.asked.length
    void reasonOf(page().wallet.connect("ton:mainnet", { manifestUrl }))
    await bridge.until(() => bridge.asked.length >= asked + 2)
    assert.deepStrictEqual(other.asked, [])
  })

  it.each([
    { bridge: "http://bridge.example/bridge" },
    { bridge: "javascript:1" },
    { bridge: "file:///bridge" },
    { bridge: "/bridge" },
    { bridge: "https://user:word@bridge.example" },
    { bridge: "https://bridge.example/?a=1" },
    { universalLink: "javascript:alert(1)//" },
    { universalLink: " java\nscript:alert(1)" },
    { universalLink: "data:text/html,1" },
    { universalLink: "http://wallet.example/ton-connect" },
    { universalLink: "no address" }
  ])("or a link at %j is refused before anything is asked or shown", (change) => {
    const [option = ""] = Object.keys(change)
    const given = { id: "test", name: "Test", bridge: bridge.url, onLink: () => assert.fail("a link was shown") }
    assert.throws(() => remoteTonWallet({ ...given, ...change }), `${option}: expected`)
    assert.deepStrictEqual(bridge.asked, [])
  })

  it.each(["tc://", "https://wallet.example/ton-connect?a=b", "http://127.0.0.1:1/link"])(
    "refuses the link %s",
    async (universalLink) => {
      const { link, wallet } = page({ universalLink })
      void reasonOf(wallet.connect("ton:mainnet", { manifestUrl }))
      assert.isTrue((await link).startsWith(`${universalLink}${universalLink.includes("?") ? "&" : "?"}v=2&id=`))
    }
  )
})

/** The events in a stream that arrives in these chunks. */
const read = async (...chunks: ReadonlyArray<string>) => {
  const events: Array<EventStream.ServerEvent> = []
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    }
  })
  await EventStream.read(stream, (event) => events.push(event))
  return events
}

describe("a stream of events", () => {
  const long = "x".repeat(EventStream.longestEvent)
  const next = "id: 78\ndata: next\n\n"

  it("leaves a long event out to its end, whatever its lines are", async () => {
    const expected = [{ id: "78", data: "next" }]
    assert.deepStrictEqual(await read(`data: ${long}\nid: 77\ndata: tail\n\n${next}`), expected)
    assert.deepStrictEqual(await read(`data: ${long}`, "y\r", "\nid: 77\r\ndata: tail\r\n\r", "\n", next), expected)
    assert.deepStrictEqual(await read(`data: a\n${"data: b\n".repeat(10_000)}id: 77\n\n`, next), expected)
  })

  it("is read the same however it is cut", async () => {
    const text = `id: 1\r\ndata: a\r\ndata: b\r\n\r\n${next}`
    const expected = [
      { id: "1", data: "a\nb" },
      { id: "78", data: "next" }
    ]
    assert.deepStrictEqual(await read(text), expected)
    assert.deepStrictEqual(await read(...text.split("")), expected)
  })
})
