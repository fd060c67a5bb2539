import { assert, describe, it } from "@effect/vitest"

import { isLoopback } from "../../../src/protocol/text/Loopback.ts"

const hostOf = (authority: string) => new URL(`http://${authority}/`).hostname

describe("isLoopback", () => {
  it.each([
    "localhost",
    "LOCALHOST:3000",
    "shop.localhost",
    "127.0.0.1:80",
    "127.255.0.9",
    "0x7f.1",
    "2130706433",
    "[::1]"
  ])("%s is this machine", (authority) => assert.isTrue(isLoopback(hostOf(authority))))

  it.each([
    "shop.example",
    "localhost.evil.example",
    "notlocalhost",
    "127.0.0.1.evil.example",
    "a127.0.0.1.example",
    "128.0.0.1",
    "0.0.0.0",
    "[::2]",
    "[::]"
  ])("%s is not", (authority) => assert.isFalse(isLoopback(hostOf(authority))))
})
