/** The form that this page was opened with by POST, if it was. */
import { facts } from "./PageContext.ts"
import type { SentForm } from "./SentForm.ts"

const decoded = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (one) => one.charCodeAt(0))

/** The form of this page; `undefined` for a page that was opened by GET, and for a form that is not kept. */
export const own: SentForm | undefined =
  facts.form !== undefined && "body" in facts.form
    ? { contentType: facts.form.contentType, body: decoded(facts.form.body) }
    : undefined

/** The reason why this page's form is not kept. */
export const problem = facts.form !== undefined && "problem" in facts.form ? facts.form : undefined
