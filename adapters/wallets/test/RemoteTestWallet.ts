/** A wallet behind a bridge, by the published protocol; its encryption is TweetNaCl's, another implementation than the one under test. */
import nacl from "tweetnacl"

import type { TestBridge } from "./TestBridge.ts"

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** The link that an application shows, read. */
export const readLink = (link: string) => {
  const { origin, pathname, searchParams } = new URL(link)
  return {
    address: `${origin}${pathname}`,
    version: searchParams.get("v"),
    app: searchParams.get("id") ?? "",
    request: JSON.parse(searchParams.get("r") ?? "{}") as unknown,
    ret: searchParams.get("ret")
  }
}

export const account = `0:${"ab".repeat(32)}`

/** The event by which a wallet connects. */
export const connectEvent = (features: ReadonlyArray<unknown> = [{ name: "SignMessage" }]) => ({
  event: "connect",
  id: 1,
  payload: {
    items: [{ name: "ton_addr", address: account, network: "-239", publicKey: "", walletStateInit: "" }],
    device: { platform: "iphone", appName: "test", appVersion: "1", maxProtocolVersion: 2, features }
  }
})

/** A wallet with a key of its own. */
export const make = (bridge: TestBridge) => {
  const keys = nacl.box.keyPair()
  const id = hex(keys.publicKey)
  const seal = (app: string, content: unknown): string => {
    const nonce = nacl.randomBytes(24)
    const text = new TextEncoder().encode(JSON.stringify(content))
    const box = nacl.box(text, nonce, Buffer.from(app, "hex"), keys.secretKey)
    return Buffer.concat([nonce, box]).toString("base64")
  }
  return {
    id,
    seal,
    /** Sends a message to an application, over the bridge. */
    send: async (app: string, content: unknown) => {
      const query = new URLSearchParams({ client_id: id, to: app, ttl: "300" })
      await fetch(`${bridge.url}/message?${query}`, { method: "POST", body: seal(app, content) })
    },
    /** The requests that came to this wallet, decrypted. */
    requests: () =>
      bridge.posted
        .filter(({ to }) => to === id)
        .map(({ from, message }) => {
          const bytes = Buffer.from(message, "base64")
          const text = nacl.box.open(
            new Uint8Array(bytes.subarray(24)),
            new Uint8Array(bytes.subarray(0, 24)),
            Buffer.from(from, "hex"),
            keys.secretKey
          )
          if (text === null) throw new Error("the application's message cannot be decrypted")
          return JSON.parse(new TextDecoder().decode(text)) as { method: string; params: Array<string>; id: string }
        })
  }
}
