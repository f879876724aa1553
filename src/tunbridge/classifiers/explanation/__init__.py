"""Why a row is given its class, what would give it another, and which features matter."""
