/** The documents of `apps/docs` as a site. Links to other files of the repository lead to its public pages. */
import { dirname, relative, resolve } from "node:path"

import { defineConfig } from "vitepress"

const documents = resolve(import.meta.dirname, "../..")
const top = resolve(documents, "../..")
const repository = "https://github.com/pontage/pontage"

/** A link of a document: inside the site as it is, else to the repository. */
const target = (href: string, document: string): string => {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href
  const [path = "", anchor] = href.split("#")
  const place = resolve(dirname(document), path)
  if (path === "" || (place.startsWith(`${documents}/`) && place.endsWith(".md"))) return href
  return `${repository}/blob/main/${relative(top, place)}${anchor === undefined ? "" : `#${anchor}`}`
}

export default defineConfig({
  title: "Pontage",
  description: "Sell HTTP resources per request",
  srcDir: "..",
  srcExclude: ["site/**", "test/**", "examples/**", "public/**"],
  outDir: "./dist",
  cacheDir: "./node_modules/.cache",
  cleanUrls: true,
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start" },
      { text: "Sell", link: "/sell/" },
      { text: "Pay", link: "/pay/" },
      { text: "Protocol", link: "/protocol" },
      { text: "Reference", link: "/reference/index.html", target: "_self" }
    ],
    sidebar: [
      {
        text: "Begin",
        items: [
          { text: "Start", link: "/start" },
          { text: "Sell", link: "/sell/" },
          { text: "Sell across networks", link: "/sell/other-networks" },
          { text: "Pay", link: "/pay/" },
          { text: "Pay from another network", link: "/pay/top-up" },
          { text: "Run a facilitator", link: "/facilitator" },
          { text: "Go live", link: "/live" }
        ]
      },
      {
        text: "Further",
        items: [
          { text: "The chains compared", link: "/chains" },
          { text: "Payment channels", link: "/channels" },
          { text: "x402 and other protocols", link: "/other-protocols" },
          { text: "Test your shop", link: "/testing" },
          { text: "Be found", link: "/discovery" },
          { text: "Errors", link: "/errors" }
        ]
      },
      {
        text: "Inside",
        items: [
          { text: "How it works", link: "/how" },
          { text: "Security model", link: "/security" },
          { text: "Protocol", link: "/protocol" },
          { text: "Glossary", link: "/glossary" },
          { text: "Reference of the packages", link: "/reference/index.html", target: "_self" }
        ]
      }
    ],
    socialLinks: [{ icon: "github", link: repository }]
  },
  vite: {
    plugins: [
      {
        // The documents lie above this folder's packages, which their compiled pages import.
        name: "packages-of-the-site",
        enforce: "pre",
        resolveId(id, importer, options) {
          if (!/^vue(?:\/|$)/.test(id) || importer?.startsWith(documents) !== true) return undefined
          return options.ssr === true
            ? { id, external: true }
            : this.resolve(id, import.meta.filename, { ...options, skipSelf: true })
        }
      }
    ]
  },
  markdown: {
    // Paths of headings have parameters in braces, which are no attributes.
    attrs: { disable: true },
    config: (markdown) => {
      markdown.core.ruler.push("repository-links", (state) => {
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === "link_open" ? token.attrGet("href") : null
          if (href !== null) token.attrSet("href", target(href, state.env.path))
        }
      })
    }
  }
})
