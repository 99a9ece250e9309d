// Runs schedules on the reference loop: one a line on standard input, each answered by the same
// line with what was observed.

import { createInterface } from "node:readline";

import { World } from "./world.mjs";

/** The schedule with its measured observations and end. */
async function measure(schedule) {
  const world = await World.open(schedule);
  const observations = [];
  for (const action of schedule.actions) observations.push(await world.act(action));
  const end = world.rest();
  await world.close();
  return { ...schedule, observations, end };
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  process.stdout.write(`${JSON.stringify(await measure(JSON.parse(line)))}\n`);
}
