/**
 * Whether a person is about to see the response: a browser that opens an address, or sends a form to it. Programs, `fetch` in a page and
 * search engines are not, and get JSON.
 */
import type { ReadHeader } from "../../wire/pontage/Dialect.ts"

/** Programs that open pages as browsers do, by the names that they give themselves. */
const robot = /bot\b|crawl|spider|slurp|preview|externalhit/i

/** The media types in which HTML forms are sent by POST. */
const formType = /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\s*(?:;|$)/i

/** The parts of a request that are looked at. */
export interface NavigationHead {
  readonly header: ReadHeader
  readonly method: string
}

/**
 * Whether a request is a navigation, by GET or by a form's POST: the browser says so itself in `Sec-Fetch-Mode`, a header that no page
 * can set and that browsers send since 2023, and it wants HTML.
 */
export const isNavigation = (request: NavigationHead): boolean =>
  (request.method === "GET" || isForm(request)) &&
  textOf(request.header("sec-fetch-mode")) === "navigate" &&
  wantsHtml(textOf(request.header("accept"))) &&
  !robot.test(textOf(request.header("user-agent")))

/** Whether a request has the method and the media type of a form that is sent by POST. */
export const isForm = ({ header, method }: NavigationHead): boolean =>
  method === "POST" && formType.test(textOf(header("content-type")))

/** Whether the browser says that a page of the same origin caused the request. */
export const isFromOwnPage = ({ header }: Pick<NavigationHead, "header">): boolean =>
  textOf(header("sec-fetch-site")) === "same-origin"

/** Whether a list of media types names HTML, with a quality above zero. */
const wantsHtml = (accept: string): boolean =>
  accept.split(",").some((item) => /^\s*text\/html\s*(?:;|$)/i.test(item) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(item))

const textOf = (value: ReturnType<ReadHeader>): string => (typeof value === "string" ? value : "")
