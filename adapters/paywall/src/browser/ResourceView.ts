/** The bought resource: shown where the page can show it, and always to be saved. */
import { texts } from "./PageContext.ts"
import { el } from "./PageDom.ts"

/** Limit on the characters of a text that is shown; the whole of it can be saved. */
const longestText = 200_000

/** The response's file name: its own, or the end of the address with the type's extension. */
const nameOf = (response: Response, type: string): string => {
  const given = /filename="?([^";]+)"?/i.exec(response.headers.get("content-disposition") ?? "")?.[1]
  const last = location.pathname.split("/").at(-1)
  const name = (given ?? (last === "" || last === undefined ? "resource" : last)).replaceAll(/[/\\]/g, "_")
  if (name.includes(".")) return name
  const extension = /^(?:[a-z]+)\/(?:[a-z.-]+\+)?([a-z0-9]{2,5})$/.exec(type)?.[1]
  return extension === undefined ? name : `${name}.${extension === "plain" ? "txt" : extension}`
}

const isAttachment = (response: Response): boolean =>
  /^\s*attachment/i.test(response.headers.get("content-disposition") ?? "")

/** JSON with line breaks, unless that would change one of its values. */
const prettyJson = (text: string): string => {
  try {
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text.trim() ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}

const shownAs = async (blob: Blob, type: string, title: string): Promise<HTMLElement | undefined> => {
  if (/^image\/(?:png|jpeg|gif|webp|avif)$/.test(type))
    return el("img", { class: "shown", src: URL.createObjectURL(blob), alt: title })
  // Without scripts, forms and an origin of its own: the page's own policy holds inside as well.
  if (type === "text/html") return el("iframe", { class: "shown", sandbox: "", srcdoc: await blob.text(), title })
  if (!/^text\/|[/+]json$/.test(type)) return undefined
  const text = (await blob.text()).slice(0, longestText)
  return el(
    "pre",
    { tabindex: "0", role: "region", "aria-label": title },
    type.endsWith("json") ? prettyJson(text) : text
  )
}

const typeOf = (response: Response): string =>
  (response.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

/** The content of a response that is not the resource, if it can be shown. */
export const shown = async (response: Response, title: string): Promise<HTMLElement | undefined> => {
  const content = await shownAs(await response.blob(), typeOf(response), title)
  return content && el("section", { class: "block" }, el("h2", {}, title), content)
}

/** The view of a response. A response that wants to be downloaded is, at once. */
export const of = async (response: Response): Promise<HTMLElement> => {
  const type = typeOf(response)
  const blob = await response.blob()
  const url = URL.createObjectURL(blob)
  const save = el("a", { class: "button second", href: url, download: nameOf(response, type) }, texts.save)
  const shown = isAttachment(response) ? undefined : await shownAs(blob, type, texts.yours)
  if (isAttachment(response)) setTimeout(() => save.click())
  return el(
    "section",
    { class: "block" },
    el("h2", {}, texts.yours),
    ...(shown === undefined ? [] : [shown]),
    save,
    el("p", { class: "note" }, texts.saveHint)
  )
}
