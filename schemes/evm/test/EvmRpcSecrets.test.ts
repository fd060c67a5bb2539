import { assert, describe, it } from "@effect/vitest"

import * as EvmRpcSecrets from "../src/EvmRpcSecrets.ts"

const veiled = (url: string, text: string) => EvmRpcSecrets.veil(new URL(url))(text)

describe("a node's words", () => {
  it.each([
    ["https://node.example/v2/0123456789abcdef", "no such key 0123456789abcdef", "no such key <hidden>"],
    ["https://node.example/v2/a%20key%20of%20mine", "a key of mine, a%20key%20of%20mine", "<hidden>, <hidden>"],
    ["https://node.example/?apikey=5ecret", "?apikey=5ecret is over its limit", "?apikey=<hidden> is over its limit"],
    ["https://user:p%40ss@node.example/", "user with p@ss, dXNlcjpwQHNz", "<hidden> with <hidden>, <hidden>"],
    ["https://node.example/v2/mainnet", "nonce too low on mainnet v2", "nonce too low on mainnet v2"],
    ["http://127.0.0.1:8545", "execution reverted", "execution reverted"]
  ])("of %s: %s", (url, text, expected) => assert.strictEqual(veiled(url, text), expected))
})
