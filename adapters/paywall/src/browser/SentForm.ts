/** A form that a person has sent by POST, as a request that can be made again byte for byte. */

/** A form. */
export interface SentForm {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** The request of a form, or of the address alone. */
export const requestOf = (form: SentForm | undefined): RequestInit =>
  form === undefined
    ? { headers: { Accept: "*/*" } }
    : { method: "POST", headers: { Accept: "*/*", "Content-Type": form.contentType }, body: form.body }

/** The media type and the content, both without the boundary, which differs each time a browser sends the same form. */
const contentOf = ({ body, contentType }: SentForm): string => {
  const boundary = /boundary="?([^";]+)/i.exec(contentType)?.[1]
  const text = `${contentType}\n${new TextDecoder("latin1").decode(body)}`
  return boundary === undefined ? text : text.replaceAll(boundary, "")
}

/** Whether two forms hold the same, in the same encoding. */
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
