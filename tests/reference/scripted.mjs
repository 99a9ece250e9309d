// A model, tools and listeners that do what a schedule says: every awaited point is a gate.
//
// Like work that ignores an abort, none of them watches its signal. Not here: when a gate is let go.

import { LlmAdapter } from "@deepseek-ai/dsh-llm";
import { defineTool } from "@deepseek-ai/dsh-tools";

/** The message of that identity; its text is the identity. */
export const message = (id) => ({
  id,
  role: "user",
  content: [{ type: "text", text: id }],
  source: { kind: "user" },
});

const ids = (messages) => messages.map(({ id }) => id);
const enter = (messages) => ({ kind: "enter", messages });
const REJECT = { kind: "reject" };

/** A pre-step listener of that name. */
export function preStepListener(stage, name) {
  return async ({ messages, turn, step }, next) => {
    stage.record({ "pre-step": name, messages: ids(messages), turn, step });
    const outcome = await stage.holdOrThrow(`${name}:in`);
    if (outcome.reject) return REJECT;
    if (outcome.enter) return enter(outcome.enter.map(message));
    return outcome.wrap ? wrapped(stage, name, await next()) : next();
  };
}

/** The listener has its inner decision, and makes its own of it. Nothing is added to a reject. */
async function wrapped(stage, name, inner) {
  const result = inner.kind === "reject" ? { reject: true } : { enter: ids(inner.messages) };
  stage.record({ "pre-step-result": name, ...result });
  const outcome = await stage.holdOrThrow(`${name}:out`);
  if (outcome.reject) return REJECT;
  if (outcome.enter) return enter(outcome.enter.map(message));
  if (inner.kind === "reject") return inner;
  if (outcome.before) return enter([...outcome.before.map(message), ...inner.messages]);
  if (outcome.after) return enter([...inner.messages, ...outcome.after.map(message)]);
  return inner;
}

export const requestErrorListener = (stage) => async (_failed, next) => {
  const outcome = await stage.holdOrThrow("request-error");
  return outcome.retry ? { kind: "retry" } : next();
};

export const turnStoppingListener = (stage) => async ({ turn }) => {
  stage.record({ "turn-stopping": turn });
  await stage.holdOrThrow("turn-stopping");
};

const SCRIPTED_FAILURE = { message: "scripted failure", code: "SCRIPTED" };

/** How a stream finishes, by the name a schedule uses. */
const FINISHES = {
  "max-tokens": { kind: "max-tokens" },
  error: { kind: "error", failure: SCRIPTED_FAILURE },
  aborted: { kind: "aborted", failure: SCRIPTED_FAILURE },
};

/** The model of one set of services; `parts.stage` is the stage it plays on. */
export class ScriptedModel extends LlmAdapter {
  #parts;

  constructor(parts) {
    super();
    this.#parts = parts;
  }

  async *stream() {
    const { stage } = this.#parts;
    for (let index = 0; ; index += 1) {
      const outcome = await stage.holdOrThrow("model");
      if (outcome.chunk === undefined) return yield* ending(outcome, index);
      yield* textBlock(index, outcome.chunk);
    }
  }
}

function* ending({ tools, finish }, index) {
  for (const [offset, call] of (tools ?? []).entries()) yield* callBlock(index + offset, call);
  const reason = tools ? { kind: "tool-calls" } : (FINISHES[finish] ?? { kind: "stop" });
  yield { type: "finish", reason };
}

function* textBlock(index, text) {
  yield { type: "block-start", index, blockType: "text" };
  yield { type: "text-delta", index, text };
  yield { type: "block-end", index, block: { type: "text", text } };
}

function* callBlock(index, { id, mode }) {
  const name = mode === "parallel" ? "shared" : "alone";
  const written = JSON.stringify({ mode, call: id });
  yield { type: "block-start", index, blockType: "tool-call" };
  yield { type: "tool-call-delta", index, id, name, argumentsDelta: written };
  yield { type: "block-end", index, block: { type: "tool-call", id, name, arguments: written } };
}

/** The two tools a scripted model calls: `alone` excludes others, `shared` runs beside its like. */
export const scriptedTools = (parts) => ["alone", "shared"].map((name) => scriptedTool(parts, name));

function scriptedTool(parts, name) {
  const text = { type: "string", required: true };
  return defineTool({
    name,
    description: name,
    parameters: { mode: text, call: text },
    output: {
      schema: { type: "string" },
      render: (_arguments, words) => [{ type: "text", text: words }],
    },
    isConcurrencySafe: ({ mode }) => mode === "parallel",
    async execute({ call }, run) {
      const outcome = await parts.stage.holdOrThrow(`tool:${call}`);
      for (const id of outcome.contexts ?? []) run.deferContext(message(id));
      if (outcome.concludes) run.concludeTurn();
      return `result ${call}`;
    },
  });
}
