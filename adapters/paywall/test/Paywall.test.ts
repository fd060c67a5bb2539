/** The page as the server writes it: its options, its size, its policy, and texts of others in it. */
import { createHash } from "node:crypto"
import { runInNewContext } from "node:vm"
import { gzipSync } from "node:zlib"

import { Misconfigured, Network, type Paywall } from "@pontage/core"
import { assert, describe, it } from "vitest"

import { entry, files } from "#files"

import { paywall } from "../src/index.ts"
import { tokensOf } from "../src/page/PageOptions.ts"
import { textOn } from "../src/page/Style.ts"
import { english } from "../src/texts/English.ts"
import { german } from "../src/texts/German.ts"
import { filled, preferred } from "../src/texts/Languages.ts"

const option = (change: Partial<Paywall.PaywallOption> = {}): Paywall.PaywallOption => ({
  scheme: "exact",
  network: "eip155:8453",
  payTo: `0x${"11".repeat(20)}`,
  asset: {
    network: Network.make("eip155:8453"),
    address: `0x${"22".repeat(20)}`,
    symbol: "USDC",
    decimals: 6,
    dollar: true,
    extra: { name: "USD Coin", version: "2" }
  },
  amount: 10_000n,
  ...change
})

const offer = (change: Partial<Paywall.PaywallOffer> = {}): Paywall.PaywallOffer => ({
  origin: "https://shop.example",
  target: "/report?day=1",
  description: "The report",
  mimeType: undefined,
  options: [option()],
  languages: "",
  ...change
})

const far = { id: "far", name: "Far", link: "https://far.example/ton-connect", bridge: "/bridges/far" }

const mistakeOf = (options: object): unknown => {
  try {
    paywall(options)
  } catch (error) {
    return error instanceof Misconfigured ? error.message : error
  }
  return "none"
}

/** The hash of a text as policies name it. */
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The facts that a text takes in. */
const factsOf = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted().join()

/** The files that a file needs at once. */
const importsOf = (text: string) =>
  [...text.matchAll(/(?:from|import)\s*"@paywall\/([\w-]+\.js)"/g)].map(([, name = ""]) => name)

describe("the options", () => {
  it.each([
    [{ colour: "#000000" }, "colour"],
    [{ name: " " }, "name"],
    [{ name: "x".repeat(65) }, "name"],
    [{ logo: "https://elsewhere.example/logo.png" }, "logo"],
    [{ logo: "//elsewhere.example/logo.png" }, "logo"],
    [{ logo: 'data:image/png;base64,AA" onload="x' }, "logo"],
    [{ logo: "data:text/html,<script>" }, "logo"],
    [{ accent: "red" }, "accent"],
    [{ accent: "#000000;}body{display:none" }, "accent"],
    [{ locale: "fr" }, "locale"],
    [{ nodes: { "ton:mainnet": "https://toncenter.com" } }, "nodes"],
    [{ tonWallets: {} }, "tonWallets"],
    [{ tonWallets: [{ ...far, bridge: "https://bridge.example" }] }, "tonWallets[0].bridge"],
    [{ tonWallets: [{ ...far, bridge: "/bridge/" }] }, "tonWallets[0].bridge"],
    [{ tonWallets: [far, { ...far, link: "javascript:alert(1)" }] }, "tonWallets[1].link"],
    [{ tonWallets: [{ ...far, id: "a b" }] }, "tonWallets[0].id"],
    [{ tonWallets: [{ ...far, name: "" }] }, "tonWallets[0].name"],
    [{ tonWallets: [{ ...far, icon: "x" }] }, "icon"],
    [{ tonWallets: Array.from({ length: 5 }, () => far) }, "tonWallets"],
    [{ nodes: { "ton:mainnet": "//elsewhere.example" } }, "nodes"]
  ])("refuse %j", (options, key) => {
    const mistake = mistakeOf(options)
    assert.isString(mistake)
    assert.include(String(mistake), key)
    assert.include(String(mistake), "paywall")
  })
})

describe("the page", () => {
  it("takes at most 12 KiB, whatever it offers", () => {
    const families = ["eip155:8453", "eip155:1", "eip155:42161", "ton:mainnet", "tron:mainnet"]
    const nodes = { "ton:mainnet": "/nodes/ton", "tron:mainnet": "/nodes/tron" }
    const { body } = paywall({ nodes }).page(offer({ options: families.map((network) => option({ network })) }))
    for (const network of families) assert.include(body, network)
    assert.isAtMost(gzipSync(body).length, 12 * 1024)
  })

  it("escapes the texts of the shop, in its HTML and in its facts", () => {
    const text = `</script><img src=x onerror=alert(1)>"'&\u2028`
    const { body } = paywall({ name: text.slice(0, 64) }).page(
      offer({ description: text, options: [option({ payTo: text, network: "eip155:8453" })] })
    )
    assert.notInclude(body, "<img src=x")
    assert.lengthOf(body.match(/<\/script>/g) ?? [], 2)
    const facts = /<script type="application\/json" id="facts">(.*?)<\/script>/s.exec(body)?.[1] ?? ""
    assert.strictEqual(JSON.parse(facts).options[0].payTo, text)
  })

  it("runs its own script and style alone, by their hashes, and is framed by nobody", () => {
    const { body, headers } = paywall({ accent: "#0a6c52" }).page(offer())
    const policy = headers["Content-Security-Policy"] ?? ""
    const style = /<style>(.*?)<\/style>/s.exec(body)?.[1] ?? ""
    const script = /<script type="module">(.*?)<\/script>/s.exec(body)?.[1] ?? ""
    assert.include(script, entry)
    assert.include(policy, `script-src ${hashOf(script)} 'strict-dynamic'`)
    assert.include(policy, `style-src ${hashOf(style)}`)
    for (const rule of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
      assert.include(policy, rule)
    assert.notMatch(policy, /unsafe|https?:|\*/)
    assert.notMatch(body, /\son\w+=|style="|https?:\/\/(?!shop\.example|basescan\.org)/)
    assert.strictEqual(headers["X-Frame-Options"], "DENY")
  })

  it("keeps a form as data, whatever a stranger has written into it, under a policy for its own script", () => {
    const text = `a=</script><script>alert(1)</script><!--&"'\u2028`
    const contentType = `text/plain; x="</script><img src=x onerror=alert(1)>`
    const form = { _tag: "Kept", contentType, body: new TextEncoder().encode(text) } as const
    const { body, headers } = paywall().page(offer({ form }))
    assert.lengthOf(body.match(/<\/script>/g) ?? [], 2)
    assert.notInclude(body, "onerror=alert(1)>")
    const facts = JSON.parse(/<script type="application\/json" id="facts">(.*?)<\/script>/s.exec(body)?.[1] ?? "")
    assert.deepStrictEqual(
      [facts.form.contentType, Buffer.from(facts.form.body, "base64").toString()],
      [contentType, text]
    )
    const script = /<script type="module">(.*?)<\/script>/s.exec(body)?.[1] ?? ""
    assert.include(script, entry)
    assert.include(headers["Content-Security-Policy"], `script-src ${hashOf(script)} 'strict-dynamic'`)
    assert.notInclude(headers["Content-Security-Policy"], "unsafe")
  })

  it("gives no form on that another site has sent, that is too long, or that is gone", () => {
    const shown = (["Elsewhere", "TooLong", "Unread"] as const).map((_tag) => {
      const { body } = paywall().page(offer({ form: { _tag } }))
      return JSON.parse(/id="facts">(.*?)<\/script>/s.exec(body)?.[1] ?? "").form.problem
    })
    assert.deepStrictEqual(shown, ["formElsewhere", "formTooLong", "formUnread"])
  })

  it("names the network among its facts where there is no choice of one", () => {
    const fact = /<dt>Network<\/dt><dd>(.*?)<\/dd>/
    assert.strictEqual(fact.exec(paywall().page(offer()).body)?.[1], "Base")
    const options = ["eip155:8453", "eip155:1"].map((network) => option({ network }))
    assert.notMatch(paywall().page(offer({ options })).body, fact)
  })

  it("offers TON and TRON only with a way to a node, and says prices exactly", () => {
    const options = ["ton:mainnet", "tron:mainnet", "other:1"].map((network) => option({ network }))
    assert.notInclude(paywall().page(offer({ options })).body, "TRON")
    assert.include(paywall({ nodes: { "tron:mainnet": "/t" } }).page(offer({ options })).body, "TRON")
    assert.deepStrictEqual(
      [
        tokensOf(10_000n, 6, true),
        tokensOf(1_500_000n, 6, true),
        tokensOf(2_000_001n, 6, true),
        tokensOf(5n, 0, false)
      ],
      ["0.01", "1.50", "2.000001", "5"]
    )
  })

  it("speaks the browser's language, or the shop's", () => {
    assert.include(paywall().page(offer({ languages: "fr, de-AT;q=0.9, en;q=0.8" })).body, 'lang="de"')
    assert.include(paywall({ locale: "en" }).page(offer({ languages: "de" })).body, 'lang="en"')
    assert.deepStrictEqual(["", "xx", "EN-us,de", "<script>"].map(preferred), ["en", "en", "en", "en"])
    assert.strictEqual(filled("{a} {b} {c}", { a: "{b}", b: "$&" }), "{b} $& {c}")
  })

  it("has the same facts in each language", () => {
    for (const [key, text] of Object.entries(english))
      assert.strictEqual(factsOf(Object.entries(german).find(([name]) => name === key)?.[1] ?? ""), factsOf(text), key)
  })

  it("writes on each colour in the one that contrasts more", () => {
    assert.deepStrictEqual(["#ffffff", "#ffd600", "#3d5afe", "#000000"].map(textOn), ["#000", "#000", "#fff", "#fff"])
  })
})

describe("the files", () => {
  const own = { origin: "https://shop.example", path: "/report", method: "GET" } as const

  it("import each other from the page's own path", () => {
    const content = paywall().file(entry, own)
    assert.notInclude(content?.body, "@paywall/")
    assert.include(content?.body, '"./report?pontage-paywall=')
    assert.include(content?.headers["Cache-Control"], "immutable")
    assert.isUndefined(paywall().file("other.js", own))
    // The page of a form loads them itself, by POST.
    assert.include(paywall().file(entry, { ...own, method: "POST" })?.body, '"@paywall/')
  })

  it("stay JavaScript at a path of any characters", () => {
    const body = paywall().file(entry, { ...own, path: `/a"b'c\\d` })?.body ?? ""
    assert.include(body, `./a\\"b%27c\\\\d?pontage-paywall=`)
  })

  it("come from the shop's origin at a path that begins like a host", () => {
    const script = /<script type="module">(.*?)<\/script>/s.exec(paywall().page(offer()).body)?.[1] ?? ""
    for (const path of ["//evil.example/y", "///report", "/x/..//evil.example/y", "//evil.example/", "/report"]) {
      const page = { origin: "https://shop.example", pathname: path }
      const element = { src: "" }
      runInNewContext(script, {
        location: page,
        document: { createElement: () => element, head: { append: () => {} } }
      })
      assert.strictEqual(new URL(element.src).origin, page.origin, path)
      const body = paywall().file(entry, { origin: page.origin, path, method: "GET" })?.body ?? ""
      const imported = [...body.matchAll(/"([^"]*\?pontage-paywall=[^"]*)"/g)].map(([, specifier = ""]) => specifier)
      assert.isNotEmpty(imported)
      for (const specifier of imported) {
        assert.match(specifier, /^\.\//)
        const { origin, pathname } = new URL(specifier, element.src)
        assert.deepStrictEqual([origin, pathname], [page.origin, new URL(element.src).pathname], path)
      }
    }
  })

  it("name the shop to TON wallets", () => {
    const manifest = paywall({ name: "Weather", logo: "/logo.png" }).file("tonconnect-manifest.json", own)
    assert.deepStrictEqual(JSON.parse(manifest?.body ?? ""), {
      url: "https://shop.example",
      name: "Weather",
      iconUrl: "https://shop.example/logo.png"
    })
  })

  it("are loaded by family, within their budgets", () => {
    const reach = (name: string, seen: Set<string>): Set<string> => {
      if (!seen.has(name)) for (const next of importsOf(files.get(seen.add(name) && name) ?? "")) reach(next, seen)
      return seen
    }
    const sizeWith = (...families: ReadonlyArray<string>): number => {
      const seen = new Set<string>()
      for (const name of files.keys())
        if (["app-", "Payment-", ...families].some((start) => name.startsWith(start))) reach(name, seen)
      return [...seen].reduce((sum, name) => sum + gzipSync(files.get(name) ?? "").length, 0)
    }
    const first = [...reach(entry, new Set())].reduce((sum, name) => sum + gzipSync(files.get(name) ?? "").length, 0)
    assert.isAtMost(first, 10 * 1024, "a page loads this before anything is chosen")
    assert.isAtMost(sizeWith("EvmFamily"), 67.8 * 1024)
    assert.isAtMost(sizeWith("TronFamily"), 69.4 * 1024)
    assert.isAtMost(sizeWith("TonFamily"), 85.8 * 1024)
    assert.isAtMost(sizeWith("EvmFamily", "TonFamily", "TronFamily"), 98.4 * 1024)
    assert.isAbove(sizeWith("EvmFamily"), 30 * 1024, "it is the whole client that was measured")
  })
})
