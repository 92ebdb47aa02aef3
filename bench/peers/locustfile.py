"""Locust's part: REQUESTS requests shared by all users, with its faster client."""

import os

import gevent
from locust import FastHttpUser, task
from locust.exception import StopUser

URL = os.environ["URL"]
left_to_start = int(os.environ["REQUESTS"])
left_to_end = left_to_start


class Fixed(FastHttpUser):
    """Takes from the shared count until it is used up."""

    host = URL

    @task
    def get(self):
        global left_to_start, left_to_end
        if left_to_start == 0:
            raise StopUser
        left_to_start -= 1
        self.client.get(URL)
        left_to_end -= 1
        if left_to_end == 0:
            # Apart, since quitting ends the users, this one among them.
            gevent.spawn(self.environment.runner.quit)
