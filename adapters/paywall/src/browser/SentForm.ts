/** The form that this page was opened with by POST, if it was, as a request that can be made again byte for byte. */
import { facts } from "./PageContext.ts"

/** A form. */
export interface SentForm {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

const decoded = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (one) => one.charCodeAt(0))

/** The form of this page; `undefined` for a page that was opened by GET, and for a form that is not kept. */
export const own: SentForm | undefined =
  facts.form !== undefined && "body" in facts.form
    ? { contentType: facts.form.contentType, body: decoded(facts.form.body) }
    : undefined

/** The reason why this page's form is not kept. */
export const problem = facts.form !== undefined && "problem" in facts.form ? facts.form : undefined

/** The request of a form, or of the address alone. */
export const requestOf = (form: SentForm | undefined): RequestInit =>
  form === undefined
    ? { headers: { Accept: "*/*" } }
    : { method: "POST", headers: { Accept: "*/*", "Content-Type": form.contentType }, body: form.body }

/** The content without the boundary, which differs each time a browser sends the same form. */
const contentOf = ({ body, contentType }: SentForm): string => {
  const boundary = /boundary="?([^";]+)/i.exec(contentType)?.[1]
  const text = new TextDecoder("latin1").decode(body)
  return boundary === undefined ? text : text.replaceAll(boundary, "")
}

/** Whether two forms hold the same. */
export const isSame = (one: SentForm, other: SentForm | undefined): boolean =>
  other !== undefined && contentOf(one) === contentOf(other)

/** The number of fields, and the names and sizes of files. Values are not shown: they may be secrets. */
export const contents = async ({
  body,
  contentType
}: SentForm): Promise<{ readonly fields: number; readonly files: ReadonlyArray<File> } | undefined> => {
  try {
    const form = await new Response(body, { headers: { "Content-Type": contentType } }).formData()
    const values = [...form.values()]
    const files = values.filter((value) => value instanceof File)
    return { fields: values.length - files.length, files: files.filter(({ name, size }) => name !== "" || size > 0) }
  } catch {
    return undefined
  }
}
