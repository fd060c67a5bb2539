/**
 * Reads server-sent events beside a body that passes through: the shop's messages about the payment as a whole, and of any other
 * event only that it had data. Memory is bounded whatever the shop sends.
 */

/** An event with data that is not blank. */
export interface StreamEvent {
  /** Its type; `message` if it names none. */
  readonly name: string
  /** Its data, of a `payment-` event alone; `undefined` if it is another's, or too long. */
  readonly data: string | undefined
}

/** The reader. */
export interface EventReader {
  /** The events that are complete with this chunk. */
  readonly push: (chunk: Uint8Array) => ReadonlyArray<StreamEvent>
}

/** The longest line and the longest data of an event that are read, in characters. */
const longest = 16 * 1024

/** A reader at the beginning of a body. */
export const make = (): EventReader => {
  const decoder = new TextDecoder()
  let line = ""
  let endedByReturn = false
  let event = empty
  const events: Array<StreamEvent> = []
  const endLine = () => {
    if (line !== "") event = withLine(event, line)
    else {
      if (event.data.trim() !== "") events.push(made(event))
      event = empty
    }
    line = ""
  }
  return {
    push: (chunk) => {
      events.length = 0
      for (const part of decoder.decode(chunk, { stream: true }).split(/(\r\n|\r|\n)/)) {
        const isEnd = part === "\n" || part === "\r" || part === "\r\n"
        // The two characters of one line's end may come in two chunks.
        if (isEnd && !(part === "\n" && endedByReturn && line === "")) endLine()
        else if (!isEnd && part !== "") line = `${line}${part}`.slice(0, longest)
        if (part !== "") endedByReturn = part === "\r"
      }
      return [...events]
    }
  }
}

interface Draft {
  readonly name: string
  readonly data: string
  readonly hasData: boolean
}

const empty: Draft = { name: "", data: "", hasData: false }

const isPayments = (name: string): boolean => name.startsWith("payment-")

const withLine = (event: Draft, line: string): Draft => {
  // Else each further line of a shop's endless event would copy all of it.
  if (event.data.length >= longest && line.startsWith("data")) return event
  const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
  if (field === "event") return { ...event, name: value }
  if (field !== "data") return event
  const data = `${event.data}${event.hasData ? "\n" : ""}${value}`
  return { ...event, data: data.slice(0, longest), hasData: true }
}

const made = ({ data, name }: Draft): StreamEvent => ({
  name: name === "" ? "message" : name,
  data: isPayments(name) && data.length < longest ? data : undefined
})
