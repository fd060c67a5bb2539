/**
 * Whether a person is about to see the response: a browser that opens an address. Programs, `fetch` in a page and search engines are
 * not, and get JSON.
 */
import type { ReadHeader } from "../../wire/pontage/Dialect.ts"

/** Programs that open pages as browsers do, by the names that they give themselves. */
const robot = /bot\b|crawl|spider|slurp|preview|externalhit/i

/**
 * Whether a GET request is a navigation: the browser says so itself in `Sec-Fetch-Mode`, a header that no page can set and that
 * browsers send since 2023, and it wants HTML.
 */
export const isNavigation = ({ header, method }: { readonly header: ReadHeader; readonly method: string }): boolean =>
  method === "GET" &&
  textOf(header("sec-fetch-mode")) === "navigate" &&
  wantsHtml(textOf(header("accept"))) &&
  !robot.test(textOf(header("user-agent")))

/** Whether a list of media types names HTML, with a quality above zero. */
const wantsHtml = (accept: string): boolean =>
  accept.split(",").some((item) => /^\s*text\/html\s*(?:;|$)/i.test(item) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(item))

const textOf = (value: ReturnType<ReadHeader>): string => (typeof value === "string" ? value : "")
