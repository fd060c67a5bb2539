import type { LookupAddress } from "node:dns"

import { assert, describe, it } from "@effect/vitest"

import * as PrivateAddress from "../../src/webhooks/PrivateAddress.ts"
import * as WebhookTarget from "../../src/webhooks/WebhookTarget.ts"

describe("an address", () => {
  it.each([
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.9.9.9",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "localhost",
    "",
    "8.8.8",
    "0x7f000001"
  ])("%s is not public", (address) => assert.isFalse(PrivateAddress.isPublic(address)))

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.1",
    "168.63.129.17",
    "172.15.0.1",
    "172.32.0.1",
    "192.0.1.1",
    "2606:4700::1111",
    "2a00::1",
    "2001:4860:4860::8888"
  ])("%s is public", (address) => assert.isTrue(PrivateAddress.isPublic(address)))
})

const objection = (url: string, allowPrivate = false) => WebhookTarget.objection(new URL(url), allowPrivate)

describe("a webhook's url", () => {
  it.each([
    ["https://shop.example/payments", undefined],
    ["https://8.8.8.8:8443/", undefined],
    ["http://shop.example/", "the url is not https"],
    ["https://127.0.0.1/", "the url leads to a private network"],
    ["https://0x7f000001/", "the url leads to a private network"],
    ["https://2130706433/", "the url leads to a private network"],
    ["https://127.1/", "the url leads to a private network"],
    ["https://[::1]/", "the url leads to a private network"],
    ["https://[::ffff:10.0.0.1]/", "the url leads to a private network"],
    ["https://169.254.169.254/latest/meta-data", "the url leads to a private network"],
    ["https://user@shop.example/", "the url is neither http nor https, or contains a user"],
    ["ftp://shop.example/", "the url is neither http nor https, or contains a user"]
  ])("%s: %s", (url, expected) => {
    assert.strictEqual(objection(url), expected)
  })

  it("may be private, and plain, where that is allowed", () => {
    assert.isUndefined(objection("http://127.0.0.1:8080/", true))
    assert.isDefined(objection("ftp://127.0.0.1/", true))
  })
})

const lookUp = (name: string, all: boolean) =>
  new Promise<string | ReadonlyArray<LookupAddress>>((resolve) => {
    WebhookTarget.publicLookup(name, { all }, (error, found) =>
      resolve(error === null ? found : String("code" in error && error.code))
    )
  })

describe("a look-up", () => {
  it("refuses a name that leads to this machine, however it is asked", async () => {
    assert.strictEqual(await lookUp("localhost", true), "EPRIVATE")
    assert.strictEqual(await lookUp("localhost", false), "EPRIVATE")
  })

  it("passes on the error of a name that does not exist", async () => {
    assert.match(JSON.stringify(await lookUp("nobody.invalid", true)), /^"E(?!PRIVATE)/)
  })
})
