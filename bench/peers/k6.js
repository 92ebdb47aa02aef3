// k6's part: N requests by C virtual users, bodies discarded; shared by them, or at a rate a second.
import http from 'k6/http';

const vus = Number(__ENV.CONNECTIONS);
const requests = Number(__ENV.REQUESTS);
const rate = Number(__ENV.RATE || 0);

const shared = { executor: 'shared-iterations', vus, iterations: requests, maxDuration: '60s' };
// What no virtual user is free for when it is due is dropped.
const held = {
  executor: 'constant-arrival-rate',
  rate,
  duration: `${requests / rate}s`,
  preAllocatedVUs: vus,
  maxVUs: vus,
};

export const options = {
  discardResponseBodies: true,
  scenarios: { only: rate ? held : shared },
};

export default function () {
  http.get(__ENV.URL);
}
